"""A process whose children pull, to be killed: `puller.py URL ID SECRET TAG COPY_URL`."""

import os
import sys

from idsync.consumer import AccountsApi, LocalCopy, open_store


def main() -> None:
    """At a line of input let a child say its process id and pull, at the next say how it ended.

    A child costs much less than a new process that imports everything.
    """
    url, client_id, secret, tag, copy_url = sys.argv[1:]
    print("ready", flush=True)
    for _ in sys.stdin:
        child = os.fork()
        if not child:
            api = AccountsApi(url, client_id, secret)
            copy = LocalCopy(api, open_store(copy_url), service_tag=tag, claim_seconds=0.5)
            print(os.getpid(), flush=True)
            copy.pull(wait=30)
            os._exit(0)
        sys.stdin.readline()
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
