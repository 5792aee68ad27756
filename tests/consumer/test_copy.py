"""The copy follows the directory; changes go there first."""

import threading
import time
from typing import Any

import pytest

import hosting
from consumer_kit import CHEAP, Consumer, consumer, copied, directory
from idsync.consumer import (
    Busy,
    LocalCopy,
    NoSuchAccount,
    PullInProgress,
    ServiceAway,
    ValueRefused,
    Verdict,
    admit,
)
from idsync.consumer.claim import claimed
from idsync.crypto.exchange import ExchangeHash
from live import LiveHost
from receiver import wait_until


def add(host: LiveHost, wiki: Consumer, name: str, *options: str) -> hosting.Person:
    """A person with the service's tag."""
    address = f"{name}@{wiki.tag}.example.org"
    return hosting.add_person(host.app, name, address, "pass word", "--tag", wiki.tag, *options)


def edit(host: LiveHost, person: hosting.Person, *options: str) -> None:
    hosting.run(host.app, "idsync", "account", "edit", person.id, *options)


def test_the_copy_follows_the_directory(host: LiveHost, wiki: Consumer) -> None:
    """Everybody at first, then changes: added, changed, without the tag, erased."""
    ada, bob, eve = (add(host, wiki, name) for name in ("ada", "bob", "eve"))
    first = wiki.copy.pull()
    assert (first.added, first.changed, first.removed, first.complete) == (3, 0, 0, True)
    assert copied(wiki.store) == directory(wiki)

    assert wiki.copy.pull().nothing_new
    edit(host, ada, "--name", "Ада")
    edit(host, bob, "--untag", wiki.tag)
    hosting.run(host.app, "idsync", "account", "erase", eve.id, "--yes")
    dan = add(host, wiki, "dan")
    second = wiki.copy.pull()
    assert (second.added, second.changed, second.removed, second.complete) == (1, 1, 2, False)
    assert set(second.noted) == {
        ("added", dan.id),
        ("changed", ada.id),
        ("removed", bob.id),
        ("removed", eve.id),
    }
    assert copied(wiki.store) == directory(wiki)
    assert wiki.copy.status().report == second


def test_a_whole_list_replaces_the_copy(host: LiveHost, wiki: Consumer) -> None:
    """After the directory was restored, whoever is not in its list is removed."""
    ada = add(host, wiki, "ada")
    wiki.copy.pull()
    with claimed(wiki.store, seconds=9, wait=0) as holder, wiki.store.changing(holder) as change:
        (lost,) = directory(wiki).values()
        lost = type(lost)(**{**{f: getattr(lost, f) for f in lost.__slots__}, "id": "lost"})
        change.people.write(change.connection, [lost], 1)
        change.finish()
    assert set(copied(wiki.store)) == {ada.id, "lost"}
    hosting.run(host.app, "idsync", "restored")
    report = wiki.copy.pull()
    assert (report.added, report.changed, report.removed, report.complete) == (0, 0, 1, True)
    assert copied(wiki.store) == directory(wiki)


def test_everybody_can_be_copied(host: LiveHost, copy_url: str, tag: str) -> None:
    with consumer(host, tag, copy_url, everyone=True) as service:
        person = hosting.add_person(host.app, "Eve", f"eve@{tag}.example.org", "pass word")
        assert admit(service.copy, person.email, "pass word").verdict is Verdict.NO_TAG
        assert admit(service.copy, person.email, "wrong").verdict is Verdict.WRONG
        assert copied(service.store) == directory(service, everyone=True)


def test_one_pull_at_a_time(host: LiveHost, wiki: Consumer) -> None:
    with claimed(wiki.store, seconds=9, wait=0):
        assert wiki.copy.status().changing is not None
        with pytest.raises(PullInProgress):
            wiki.copy.pull()
    wiki.copy.pull()
    outcomes: list[object] = []

    def pull() -> None:
        try:
            outcomes.append(wiki.copy.pull(wait=20))
        except PullInProgress as error:
            outcomes.append(error)

    threads = [threading.Thread(target=pull) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not [one for one in outcomes if isinstance(one, Exception)]
    assert wiki.store.state().generation == 9


def test_a_claim_ends_with_its_owner_and_lives_as_long(wiki: Consumer) -> None:
    """A killed process keeps others away for a while only; a slow one is never overtaken."""
    now = time.time()
    assert wiki.store.try_claim("killed", now=now, until=now + 0.3)
    wiki.copy.pull(wait=5)
    assert time.time() >= now + 0.3
    with claimed(wiki.store, seconds=2, wait=0):
        first = wiki.store.state().held_until
        wait_until(lambda: wiki.store.state().held_until > first)
        with pytest.raises(PullInProgress):
            wiki.copy.pull()


def test_a_claim_from_a_clock_that_was_wrong_is_void(wiki: Consumer) -> None:
    tomorrow = time.time() + 86_400
    assert wiki.store.try_claim("ahead", now=tomorrow, until=tomorrow + 30)
    wiki.copy.pull()


def test_who_lost_the_claim_changes_nothing(host: LiveHost, wiki: Consumer) -> None:
    add(host, wiki, "ada")
    wiki.copy.pull()
    before = copied(wiki.store)
    (account,) = before.values()
    now = time.time()

    def overtaken() -> None:
        with claimed(wiki.store, seconds=9, wait=0) as holder:
            assert wiki.store.renew(holder, now - 1)
            assert wiki.store.try_claim("another", now=now, until=now + 9)
            with wiki.store.changing(holder) as change:
                change.people.remove(change.connection, [account.id])
                change.finish()

    with pytest.raises(PullInProgress):
        overtaken()
    assert copied(wiki.store) == before
    wiki.store.release("another")


def test_a_change_is_made_there_then_here(host: LiveHost, wiki: Consumer) -> None:
    created = wiki.copy.create("Ada", f"ada@{wiki.tag}.example.org", "plain password")
    assert not created.existed
    assert created.account.tags == (wiki.tag,)
    wiki.copy.change(created.account.id, name="Ada L.", password="another one")
    assert copied(wiki.store) == directory(wiki)
    (account,) = copied(wiki.store).values()
    assert account.name == "Ada L."
    assert ExchangeHash.parse(account.password or "").verify("another one")
    assert ExchangeHash.parse(account.password or "").iterations == CHEAP

    wiki.copy.change(account.id, tags_remove=[wiki.tag])
    assert copied(wiki.store) == directory(wiki) == {}
    wiki.copy.pull()
    assert copied(wiki.store) == {}


def test_a_person_who_exists_is_adopted(host: LiveHost, wiki: Consumer) -> None:
    """With their own id and password; the service's tag is added."""
    address = f"bob@{wiki.tag}.example.org"
    bob = hosting.add_person(host.app, "Bob", address, "his own one")
    created = wiki.copy.create("Robert", address.upper(), "not his", id="my-own-id")
    assert (created.existed, created.account.id) == (True, bob.id)
    assert admit(wiki.copy, address, "his own one").verdict is Verdict.ADMITTED
    assert admit(wiki.copy, address, "not his").verdict is Verdict.WRONG


def test_a_refused_change_leaves_the_copy(host: LiveHost, wiki: Consumer) -> None:
    ada, bob = add(host, wiki, "ada"), add(host, wiki, "bob")
    wiki.copy.pull()
    before = copied(wiki.store)
    with pytest.raises(ValueRefused):
        wiki.copy.change(ada.id, email=bob.email)
    with pytest.raises(NoSuchAccount):
        wiki.copy.change("nobody", name="x")
    with pytest.raises(ValueRefused):
        wiki.copy.create("")
    assert copied(wiki.store) == before == directory(wiki)


def test_a_crash_between_is_healed(
    host: LiveHost, wiki: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = add(host, wiki, "ada")
    wiki.copy.pull()

    def crash(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(LocalCopy, "_write", crash)
        with pytest.raises(KeyboardInterrupt):
            wiki.copy.change(ada.id, name="Changed")
    assert copied(wiki.store)[ada.id].name == "ada"
    wiki.copy.pull()
    assert copied(wiki.store)[ada.id].name == "Changed"


def test_a_change_during_a_long_pull_comes_with_the_next(
    host: LiveHost, wiki: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is accepted at once; the copy is written by nobody but the pull."""
    monkeypatch.setattr("idsync.consumer.copy.PATIENCE", 0.1)
    ada = add(host, wiki, "ada")
    wiki.copy.pull()
    with claimed(wiki.store, seconds=9, wait=0):
        assert wiki.copy.change(ada.id, name="Changed").name == "Changed"
        assert copied(wiki.store)[ada.id].name == "ada"
    wiki.copy.pull()
    assert copied(wiki.store) == directory(wiki)


def test_addresses_can_be_swapped(host: LiveHost, wiki: Consumer) -> None:
    ada, bob = add(host, wiki, "ada"), add(host, wiki, "bob")
    wiki.copy.pull()
    edit(host, ada, "--email", f"x@{wiki.tag}.example.org")
    edit(host, bob, "--email", ada.email)
    edit(host, ada, "--email", bob.email)
    wiki.copy.pull()
    found = wiki.store.by_email(ada.email.upper())
    assert found is not None
    assert found.id == bob.id


def test_it_runs_until_it_is_stopped(host: LiveHost, wiki: Consumer) -> None:
    """A failure is no end: the next pull comes in its time."""
    stop, outcomes = threading.Event(), []
    api = wiki.copy._api

    class Failing:
        def accounts(self, *_: Any, **__: Any) -> Any:
            raise [Busy("wait"), ServiceAway("gone")][len(outcomes) % 2]

    wiki.copy._api = Failing()  # type: ignore[assignment]

    def after(outcome: object) -> None:
        outcomes.append(outcome)
        if len(outcomes) == 2:
            wiki.copy._api = api
        if len(outcomes) == 4:
            stop.set()

    wiki.copy.run(0.05, stop, after)
    assert [isinstance(one, Exception) for one in outcomes] == [True, True, False, False]
