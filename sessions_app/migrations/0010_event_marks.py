from pathlib import Path

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0009_file_index")]
    operations = [
        migrations.RunSQL(
            (Path(__file__).parent / "sql" / "0010_event_marks.sql").read_text(),
            "DROP INDEX event_marks",
        )
    ]
