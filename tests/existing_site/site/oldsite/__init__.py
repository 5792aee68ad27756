"""The members' site of a small club, as it was before anybody spoke of single sign-on."""

from flask import Flask

from oldsite.extensions import csrf, db, login_manager, migrate
from oldsite.views import bp


def create_app():
    app = Flask(__name__)
    app.config.from_object("oldsite.config")
    db.init_app(app)
    migrate.init_app(app, db)
    login_manager.init_app(app)
    csrf.init_app(app)
    app.register_blueprint(bp)
    return app
