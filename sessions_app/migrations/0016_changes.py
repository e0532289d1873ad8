"""Which transaction wrote a session last, and which erased one, so that a copy in memory can be kept true."""

from pathlib import Path

from django.db import migrations, models

_UNDO = """
DROP TRIGGER session_erased ON sessions_app_session;
DROP FUNCTION sessions_app_session_erased();
DROP TRIGGER session_key_changed ON sessions_app_sessionkey;
DROP FUNCTION sessions_app_session_key_changed();
DROP TRIGGER session_changed ON sessions_app_session;
DROP FUNCTION sessions_app_session_changed();
"""


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0015_users")]
    operations = [
        migrations.AddField(
            model_name="session",
            name="changed",
            field=models.BigIntegerField(db_default=0, editable=False),
        ),
        migrations.AddField(
            model_name="workspace",
            name="erased",
            field=models.BigIntegerField(db_default=0, editable=False),
        ),
        migrations.AddIndex(
            model_name="session",
            index=models.Index(fields=["workspace", "changed"], name="session_changes"),
        ),
        migrations.RunSQL(
            (Path(__file__).parent / "sql" / "0016_changes.sql").read_text(), _UNDO
        ),
    ]
