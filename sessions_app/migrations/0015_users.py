"""Sessions and what they used, told apart by the account they worked for. Sessions that are here
already get theirs by `manage.py reproject`."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0014_overviews")]

    operations = [
        migrations.AddField(
            model_name="session",
            name="user_term",
            field=models.IntegerField(default=0),
        ),
        migrations.AddField(
            model_name="usageday",
            name="account",
            field=models.IntegerField(default=0, help_text="blind term of a user, 0 for none"),
        ),
    ]
