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
        labels = {"display_name": "Display name", "shortcuts": "Keyboard shortcuts"}
        help_texts = {
            "display_name": "What others see; your user name where it is empty.",
            "shortcuts": "Single letters and Ctrl K. Off is better with speech input.",
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


class TokenForm(forms.Form):
    name = forms.CharField(
        max_length=80, label="Name", help_text="The machine it is for, such as build-3."
    )


class TokenChoice(forms.Form):
    token = forms.UUIDField()


class RootEditForm(forms.Form):
    agent = forms.CharField(
        max_length=40,
        required=False,
        help_text="For your own overview; formats are recognised by content.",
    )
    project = forms.CharField(
        max_length=200,
        required=False,
        help_text="One name for all its sessions. Empty: what each log says.",
    )


class RootForm(RootEditForm):
    path = forms.CharField(
        max_length=1000, help_text="A folder or file of the machine Recount runs on."
    )
    field_order = ["path", "agent", "project"]


class RootChoice(forms.Form):
    root = forms.UUIDField()


class FindingChoice(forms.Form):
    finding = forms.IntegerField(min_value=1, max_value=2**63 - 1)
