"""A person's connected applications."""

from flask import Flask
from flask.testing import FlaskClient

import hosting


def test_an_application_is_shown_and_its_access_taken_back(app: Flask, client: FlaskClient) -> None:
    """With its rights; afterwards it has to ask again."""
    person = hosting.add_person(app)
    application = hosting.register_application(app, "<i>Wiki</i>")
    hosting.authorize(client, application, person, scope="profile email")
    page = client.get("/applications").text
    assert "&lt;i&gt;Wiki&lt;/i&gt;" in page
    assert "See your e-mail address" in page
    assert "Stay signed in" not in page
    address = f"/applications/{application.client_id}/disconnect"
    page = hosting.submit(client, "/applications", {}, post_to=address)
    assert page.headers["Location"] == "/applications"
    page = client.get("/applications").text
    assert "has no access any more" in page
    assert "No application has access" in page
    asked = client.get(hosting.authorize_path(application, scope="profile"))
    assert 'name="decision"' in asked.text


def test_a_forged_form_takes_nothing_back(app: Flask, client: FlaskClient) -> None:
    """Without the CSRF token, and for nobody who is signed in."""
    person = hosting.add_person(app)
    application = hosting.register_application(app, "Wiki")
    hosting.authorize(client, application, person)
    address = f"/applications/{application.client_id}/disconnect"
    assert client.post(address).status_code == 400
    assert "Wiki" in client.get("/applications").text
    stranger = app.test_client()
    assert stranger.get("/applications").headers["Location"].startswith("/sign-in?next=")


def test_one_person_does_not_see_or_end_anothers(app: Flask, client: FlaskClient) -> None:
    """Each sees only their own."""
    ada = hosting.add_person(app)
    eve = hosting.add_person(app, "Eve", "eve@example.org", "pass word")
    application = hosting.register_application(app, "Wiki")
    hosting.authorize(client, application, ada)
    other = app.test_client()
    hosting.sign_in(other, eve)
    page = other.get("/applications")
    assert "Wiki" not in page.text
    token = hosting.hidden_fields(other.get("/").text)["csrf_token"]
    other.post(f"/applications/{application.client_id}/disconnect", data={"csrf_token": token})
    assert "Wiki" in client.get("/applications").text
