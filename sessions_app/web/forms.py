"""Forms stay at the edge: they read what a person typed and say what is wrong with it."""

from typing import TYPE_CHECKING

from django import forms
from django.core.validators import RegexValidator

from sessions_app.models import User
from sessions_app.models.people import Role

if TYPE_CHECKING:
    UserForm = forms.ModelForm[User]
else:
    UserForm = forms.ModelForm

USERNAME = RegexValidator(
    r"\A[\w.@+-]{1,150}\Z", "Letters, digits and . @ + - _ only, without spaces."
)


class SettingsForm(UserForm):
    class Meta:
        model = User
        fields = ["display_name", "theme", "shortcuts"]
        labels = {"display_name": "Display name", "shortcuts": "Single-letter keyboard shortcuts"}
        help_texts = {
            "display_name": "What others see; your user name where it is empty.",
            "shortcuts": "Switch off if you use speech input or they get in the way.",
        }


class ThemeForm(UserForm):
    class Meta:
        model = User
        fields = ["theme"]


class MemberForm(forms.Form):
    username = forms.CharField(max_length=150, validators=[USERNAME], label="User name")
    email = forms.EmailField(required=False, label="E-mail")
    role = forms.ChoiceField(choices=Role.choices, initial=Role.VIEWER)


class RoleForm(forms.Form):
    member = forms.IntegerField()
    role = forms.ChoiceField(choices=Role.choices)


class MemberChoice(forms.Form):
    member = forms.IntegerField()
