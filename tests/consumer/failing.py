"""A process in which sign-ins fail when told to: `failing.py URL COPY_URL INTERVAL NUMBER`."""

import json
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from idsync.consumer import AccountsApi, LocalCopy, admit, open_store


def main() -> None:
    """Say when ready; at each line of input let so many sign-ins fail, some at the same time."""
    url, copy_url, interval, number = sys.argv[1:]
    api = AccountsApi(url, "app_me", "ids_secret")
    copy = LocalCopy(api, open_store(copy_url), service_tag="wiki", prompt_interval=float(interval))

    def fail(person: int) -> str:
        return admit(copy, f"x{person}@example.org", "no").verdict.value

    print("ready", flush=True)
    with ThreadPoolExecutor(4) as threads:
        for _ in sys.stdin:
            print(json.dumps(Counter(threads.map(fail, range(int(number))))), flush=True)


if __name__ == "__main__":
    main()
