"""What each kind of event is called, to administrators and to whom it happened."""

from __future__ import annotations

from flask_babel import lazy_gettext

KINDS = {
    "account adopted": lazy_gettext("Account taken over from the site"),
    "account attached": lazy_gettext("Account given a service's tags"),
    "account changed": lazy_gettext("Account changed"),
    "account created": lazy_gettext("Account created"),
    "account erased": lazy_gettext("Account erased"),
    "account imported": lazy_gettext("Account taken out of a file"),
    "accounts exported": lazy_gettext("Accounts put into a file"),
    "application activated": lazy_gettext("Application switched on"),
    "application changed": lazy_gettext("Application changed"),
    "application deactivated": lazy_gettext("Application switched off"),
    "application disconnected": lazy_gettext("Application disconnected"),
    "application registered": lazy_gettext("Application registered"),
    "directory restored": lazy_gettext("Directory restored from a backup"),
    "e-mail address confirmed": lazy_gettext("E-mail address confirmed"),
    "grant issued": lazy_gettext("Went on to an application"),
    "logout token given up": lazy_gettext("Application could not be told of a sign-out"),
    "more sign-ins failed": lazy_gettext("More sign-ins failed than are noted"),
    "old rows deleted": lazy_gettext("Old rows deleted"),
    "password changed": lazy_gettext("Password changed"),
    "password chosen by mail": lazy_gettext("New password chosen by a link in a mail"),
    "recovery code used": lazy_gettext("Recovery code used"),
    "recovery codes made": lazy_gettext("Recovery codes made"),
    "second factor added": lazy_gettext("Second factor added"),
    "second factor removed": lazy_gettext("Second factor removed"),
    "second factors reset": lazy_gettext("Second factors taken away"),
    "secret rotated": lazy_gettext("Application secret replaced"),
    "secrets resealed": lazy_gettext("Secrets sealed anew"),
    "sign-in failed": lazy_gettext("Sign-in failed"),
    "signed in": lazy_gettext("Signed in"),
    "signed out": lazy_gettext("Signed out"),
    "signed out everywhere": lazy_gettext("Signed out everywhere"),
    "signing key made": lazy_gettext("Signing key made"),
    "signing key retired": lazy_gettext("Signing key retired"),
    "token replayed": lazy_gettext("Token used twice"),
}
