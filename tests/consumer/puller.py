"""A process that pulls when told to, to be killed: `puller.py URL ID SECRET TAG COPY_URL`."""

import sys

from idsync.consumer import AccountsApi, LocalCopy, open_store


def main() -> None:
    """Say when ready; pull at each line of input."""
    url, client_id, secret, tag, copy_url = sys.argv[1:]
    api = AccountsApi(url, client_id, secret)
    copy = LocalCopy(api, open_store(copy_url), service_tag=tag, claim_seconds=0.5)
    print("ready", flush=True)
    for _ in sys.stdin:
        copy.pull(wait=30)
        print("pulled", flush=True)


if __name__ == "__main__":
    main()
