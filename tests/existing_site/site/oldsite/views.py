from datetime import UTC, datetime
from urllib.parse import urlsplit

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask_login import current_user, login_required, login_user, logout_user

from oldsite.extensions import db
from oldsite.forms import LoginForm, PasswordForm, ProfileForm
from oldsite.models import User

bp = Blueprint("main", __name__)


@bp.before_app_request
def note_last_seen():
    if current_user.is_authenticated:
        current_user.last_seen = datetime.now(UTC).replace(tzinfo=None)
        db.session.commit()


@bp.route("/")
@login_required
def index():
    return render_template("index.html")


@bp.route("/login", methods=["GET", "POST"])
def login():
    if current_user.is_authenticated:
        return redirect(url_for("main.index"))
    form = LoginForm()
    if form.validate_on_submit():
        user = db.session.scalar(db.select(User).filter_by(mail=form.mail.data))
        if user is None or not user.check_password(form.password.data):
            flash("Wrong e-mail address or password.")
        else:
            login_user(user, remember=form.remember_me.data)
            next_page = request.args.get("next", "")
            if not next_page.startswith("/") or urlsplit(next_page).netloc:
                next_page = url_for("main.index")
            return redirect(next_page)
    return render_template("form.html", title="Sign in", form=form)


@bp.route("/logout")
def logout():
    logout_user()
    return redirect(url_for("main.login"))


@bp.route("/profile", methods=["GET", "POST"])
@login_required
def profile():
    form = ProfileForm(obj=current_user)
    if form.validate_on_submit():
        current_user.full_name = form.full_name.data
        db.session.commit()
        flash("Saved.")
        return redirect(url_for("main.index"))
    return render_template("form.html", title="Your profile", form=form)


@bp.route("/password", methods=["GET", "POST"])
@login_required
def password():
    form = PasswordForm()
    if form.validate_on_submit():
        if current_user.check_password(form.current.data):
            current_user.set_password(form.new.data)
            db.session.commit()
            flash("Your password has been changed.")
            return redirect(url_for("main.index"))
        flash("That is not your current password.")
    return render_template("form.html", title="Your password", form=form)
