"""Who may come in with a password, and what an outsider learns."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hosting
from consumer_kit import (
    Consumer,
    FalseService,
    a_list,
    an_account,
    answering,
    change_row,
    consumer,
    copied,
    opened,
)
from idsync.consumer import AccountsApi, LocalCopy, Verdict, admit, admit_signed_in
from idsync.consumer.admission import cost_at, decoy
from idsync.consumer.copy import lease_left
from idsync.crypto.exchange import ExchangeHash
from live import LiveHost

PASSWORD = "pass word"
HASH = str(ExchangeHash.create(PASSWORD, iterations=10_000))


def add(host: LiveHost, wiki: Consumer, *options: str) -> hosting.Person:
    address = f"ada@{wiki.tag}.example.org"
    return hosting.add_person(host.app, "Ada", address, PASSWORD, "--tag", wiki.tag, *options)


def verdict(service: Consumer, person: hosting.Person, password: str = PASSWORD) -> Verdict:
    return admit(service.copy, person.email, password).verdict


@contextmanager
def false_copy(false: FalseService, copy_url: str, **options: Any) -> Iterator[LocalCopy]:
    """A copy at a service that answers as a test wants."""
    with opened(copy_url) as store:
        api = AccountsApi(false.url, "app_me", "ids_secret")
        given = {"service_tag": "wiki", "prompt_interval": 0, **options}
        yield LocalCopy(api, store, **given)


def test_a_new_person_comes_in_at_the_first_try(host: LiveHost, wiki: Consumer) -> None:
    wiki.copy.pull()
    ada = add(host, wiki)
    admitted = admit(wiki.copy, f"  {ada.email.upper()} ", PASSWORD)
    assert admitted.verdict is Verdict.ADMITTED
    assert admitted.account is not None
    assert admitted.account.id == ada.id
    assert verdict(wiki, ada, "wrong") is Verdict.WRONG


def test_a_new_password_works_at_once_and_the_old_one_ends_with_the_next_pull(
    host: LiveHost, wiki: Consumer
) -> None:
    ada = add(host, wiki)
    assert verdict(wiki, ada) is Verdict.ADMITTED
    new = str(ExchangeHash.create("new one", iterations=10_000))
    wiki.api.change(ada.id, password=new)
    assert verdict(wiki, ada, "new one") is Verdict.ADMITTED
    assert verdict(wiki, ada) is Verdict.WRONG


def test_a_disabled_person_is_refused_within_one_pull(host: LiveHost, wiki: Consumer) -> None:
    ada = add(host, wiki)
    assert verdict(wiki, ada) is Verdict.ADMITTED
    hosting.run(host.app, "idsync", "account", "disable", ada.id)
    wiki.copy.pull()
    assert verdict(wiki, ada) is Verdict.DISABLED
    assert verdict(wiki, ada, "wrong") is Verdict.WRONG
    assert admit_signed_in(wiki.copy, ada.id).verdict is Verdict.DISABLED
    hosting.run(host.app, "idsync", "account", "enable", ada.id)
    assert verdict(wiki, ada) is Verdict.ADMITTED


def test_without_the_tag_nobody_comes_in(host: LiveHost, copy_url: str, tag: str) -> None:
    """A copy of everybody says so to whoever knows the password; a smaller one knows nobody."""
    with consumer(host, tag, copy_url, everyone=True) as service:
        ada = add(host, service)
        assert verdict(service, ada) is Verdict.ADMITTED
        service.copy.change(ada.id, tags_remove=[tag])
        assert verdict(service, ada) is Verdict.NO_TAG
        assert verdict(service, ada, "wrong") is Verdict.WRONG
        assert admit_signed_in(service.copy, ada.id).verdict is Verdict.NO_TAG


def test_two_factor_protection_is_never_passed_by_password(host: LiveHost, wiki: Consumer) -> None:
    ada = add(host, wiki)
    wiki.copy.pull()
    change_row(host, ada.id, mfa=True)
    wiki.copy.pull()
    told = admit(wiki.copy, ada.email, PASSWORD)
    assert (told.verdict, told.proven, told.account) == (
        Verdict.USE_IDENTITY_SERVICE,
        True,
        None,
    )
    assert verdict(wiki, ada, "wrong") is Verdict.WRONG
    assert admit_signed_in(wiki.copy, ada.id).verdict is Verdict.ADMITTED


def test_an_administrator_has_no_hash_and_uses_the_identity_service(
    host: LiveHost, wiki: Consumer
) -> None:
    ada = add(host, wiki, "--administrator")
    for password in (PASSWORD, "wrong"):
        told = admit(wiki.copy, ada.email, password)
        assert (told.verdict, told.proven) == (Verdict.USE_IDENTITY_SERVICE, False)


def test_somebody_signed_in_there_is_looked_up_and_pulled_once(
    host: LiveHost, wiki: Consumer
) -> None:
    wiki.copy.pull()
    ada = add(host, wiki)
    admitted = admit_signed_in(wiki.copy, ada.id)
    assert admitted.verdict is Verdict.ADMITTED
    assert admitted.account == copied(wiki.store)[ada.id]
    assert admit_signed_in(wiki.copy, "nobody").verdict is Verdict.UNKNOWN


def test_the_lease_ends_by_the_clock(
    false: FalseService, copy_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until then the copy is good without the identity service; then for nobody, whoever asks."""
    false.answer = answering(200, a_list([an_account(password=HASH)]))
    with false_copy(false, copy_url, lease=600) as copy:
        assert admit(copy, "person1@example.org", "wrong").verdict is Verdict.WRONG
        false.answer = answering(503)
        assert admit(copy, "person1@example.org", PASSWORD).verdict is Verdict.ADMITTED
        later = time.time() + 601
        monkeypatch.setattr("idsync.consumer.admission.time.time", lambda: later)
        for login, password in (("person1@example.org", PASSWORD), ("nobody", "x")):
            told = admit(copy, login, password)
            assert (told.verdict, told.proven) == (Verdict.TOO_OLD, False)
        false.answer = answering(200, a_list([an_account(password=HASH)]))
        assert admit(copy, "person1@example.org", PASSWORD).verdict is Verdict.ADMITTED


def test_a_copy_that_was_never_pulled_admits_nobody(false: FalseService, copy_url: str) -> None:
    false.answer = answering(503)
    with false_copy(false, copy_url) as copy:
        assert admit(copy, "person1@example.org", PASSWORD).verdict is Verdict.TOO_OLD


@pytest.mark.parametrize(
    ("pulled_at", "left"), [(None, 0), (1000, 60), (940, 0), (900, 0), (1060, 120), (1061, 0)]
)
def test_the_lease_counts_from_the_last_pull(pulled_at: float | None, left: float) -> None:
    """A pull that seems to lie far ahead says nothing about the copy's age."""
    assert lease_left(pulled_at, 1000, 60) == left


@pytest.mark.parametrize(
    "login", ["nobody@example.org", "", "\0", "\ud800", "x" * 10_000, "person2@example.org"]
)
def test_the_unknown_cost_and_look_like_the_known(
    false: FalseService, copy_url: str, login: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One hash is computed with the usual iterations, whoever it is."""
    accounts = [an_account(1, password=HASH), an_account(2, password=None)]
    false.answer = answering(200, a_list(accounts))
    computed: list[int] = []
    original = ExchangeHash.verify

    def verify(self: ExchangeHash, *args: Any, **options: Any) -> bool:
        computed.append(self.iterations)
        return original(self, *args, **options)

    with false_copy(false, copy_url, prompt_interval=60) as copy:
        copy.pull()
        monkeypatch.setattr(ExchangeHash, "verify", verify)
        unknown = admit(copy, login, "wrong")
        known = admit(copy, "person1@example.org", "wrong")
        assert computed == [10_000, 10_000]
        if login != "person2@example.org":
            assert unknown == known
        for password in ("\ud800", "x" * 2000, ""):
            assert admit(copy, "person1@example.org", password).verdict is Verdict.WRONG


@pytest.mark.parametrize("password", ["pbkdf2$1$x", "pbkdf2$9999999$aa$" + "0" * 64, "$argon2id$"])
def test_a_hash_that_cannot_be_read_leads_to_the_identity_service(
    false: FalseService, copy_url: str, password: str
) -> None:
    false.answer = answering(200, a_list([an_account(password=password)]))
    with false_copy(false, copy_url) as copy:
        told = admit(copy, "person1@example.org", PASSWORD)
        assert (told.verdict, told.proven) == (Verdict.USE_IDENTITY_SERVICE, False)


def test_an_address_of_two_people_admits_neither(false: FalseService, copy_url: str) -> None:
    twins = [an_account(n, email="Same@example.org", password=HASH) for n in (1, 2)]
    false.answer = answering(200, a_list(twins))
    with false_copy(false, copy_url) as copy:
        assert admit(copy, "same@example.org", PASSWORD).verdict is Verdict.WRONG


@given(
    costs=st.dictionaries(st.integers(1, 10**6), st.integers(1, 1000), min_size=1, max_size=5),
    point=st.floats(0, 1, exclude_max=True),
)
def test_costs_are_drawn_from_those_that_occur(costs: dict[int, int], point: float) -> None:
    assert cost_at(costs, point) in costs


def test_decoys_are_spread_as_the_people_are_and_stay(false: FalseService, copy_url: str) -> None:
    other = HASH.replace("$10000$", "$20000$")
    accounts = [an_account(n, password=HASH if n < 4 else other) for n in range(1, 5)]
    false.answer = answering(200, a_list(accounts))
    with false_copy(false, copy_url) as copy:
        copy.pull()
        state = copy.store.state()
        logins = [f"x{n}@example.org" for n in range(400)]
        drawn = Counter(decoy(state, login).iterations for login in logins)
        assert drawn.keys() == {10_000, 20_000}
        assert 240 < drawn[10_000] < 360
        assert decoy(state, "X1@example.org") == decoy(state, "x1@example.org ")
