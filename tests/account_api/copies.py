"""What consuming services keep, in the two ways to keep up. Nothing here needs pytest."""

from typing import Any

from account_api.calling import Service


class Copy:
    """The accounts by id, and what was taken: whole lists, changes, removals among these."""

    def __init__(self, service: Service, tag: str | None = None) -> None:
        self.service, self.tag = service, tag
        self.query = {} if tag is None else {"tag": tag}
        self.accounts: dict[str, dict[str, Any]] = {}
        self.whole_lists = self.changes = self.removed = 0

    def take(self, answer: dict[str, Any]) -> None:
        """Take a list into the copy as the docs say."""
        told = {account["id"]: account for account in answer["accounts"]}
        assert len(told) == len(answer["accounts"])
        if answer["complete"]:
            self.accounts = told
            self.whole_lists += 1
        else:
            assert not told.keys() & set(answer["removed"])
            self.accounts |= told
            for id in answer["removed"]:
                self.accounts.pop(id, None)
            self.changes += len(told) + len(answer["removed"])
            self.removed += len(answer["removed"])

    def differences(self) -> list[str]:
        """The ids of accounts that are not as the directory has them now."""
        whole = {one["id"]: one for one in self.service.whole(**self.query)["accounts"]}
        return [id for id in whole.keys() | self.accounts if whole.get(id) != self.accounts.get(id)]


class CopyBySince(Copy):
    """Asks for what changed."""

    cursor = ""

    def follow(self) -> None:
        answer = self.service.list(since=self.cursor, **self.query)
        assert answer.status_code == 200, answer.text
        self.take(answer.json)
        self.cursor = answer.json["cursor"]


class CopyByEtag(Copy):
    """Takes the whole list whenever it is another one."""

    etag = '""'

    def follow(self) -> None:
        answer = self.service.list(etag=self.etag, **self.query)
        if answer.status_code == 304:
            assert answer.headers["ETag"] == self.etag
            return
        assert answer.status_code == 200, answer.text
        assert answer.json["complete"] is True
        self.take(answer.json)
        self.etag = answer.headers["ETag"]
