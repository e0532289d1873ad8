from pathlib import Path

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0001_foundation")]
    operations = [
        migrations.RunSQL(
            (Path(__file__).parent / "sql" / "0002_storage.sql").read_text(),
            migrations.RunSQL.noop,
        )
    ]
