"""Calls whose log gives no id have rows too; what a session tells again is counted apart."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0016_changes")]
    operations = [
        migrations.CreateModel(
            name="Copied",
            fields=[
                ("session_id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("prompts", models.IntegerField()),
                ("errors", models.IntegerField()),
            ],
        ),
        migrations.AlterField(
            model_name="call",
            name="key",
            field=models.BigIntegerField(help_text="keyed hash of the call's id", null=True),
        ),
    ]
