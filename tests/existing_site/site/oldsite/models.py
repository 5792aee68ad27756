from flask_login import UserMixin
from werkzeug.security import check_password_hash, generate_password_hash

from oldsite.extensions import db, login_manager


class User(UserMixin, db.Model):
    __tablename__ = "users"

    id = db.Column(db.Integer, primary_key=True)
    full_name = db.Column(db.String(120), nullable=False)
    mail = db.Column(db.String(120), nullable=False, unique=True, index=True)
    password_hash = db.Column(db.String(256))
    last_seen = db.Column(db.DateTime)
    notes = db.relationship("Note", back_populates="author")

    def set_password(self, password):
        self.password_hash = generate_password_hash(password)

    def check_password(self, password):
        return self.password_hash is not None and check_password_hash(self.password_hash, password)


@login_manager.user_loader
def load_user(user_id):
    return db.session.get(User, int(user_id))


class Note(db.Model):
    __tablename__ = "notes"

    id = db.Column(db.Integer, primary_key=True)
    user_id = db.Column(db.Integer, db.ForeignKey("users.id"), nullable=False)
    text = db.Column(db.Text, nullable=False)
    author = db.relationship("User", back_populates="notes")
