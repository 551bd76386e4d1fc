#!/usr/bin/python3
"""Runs bench-webpush, and then Lull and node's web-push in turn. Usage: webpush.py BENCH-WEBPUSH"""

import pathlib
import statistics
import subprocess
import sys

PEER = pathlib.Path(__file__).resolve().parent / "webpush_peer.js"
ROUNDS = 7
MESSAGES = 1000


def us_each(command):
    done = subprocess.run([*command, str(MESSAGES)], text=True, check=True, stdout=subprocess.PIPE)
    return float(done.stdout)


def main():
    code = subprocess.call([sys.argv[1]])
    pairs = [(us_each([sys.argv[1]]), us_each(["node", str(PEER)])) for _ in range(ROUNDS)]
    ours, theirs = (statistics.median(values) for values in zip(*pairs))
    ratio = statistics.median(peer / own for own, peer in pairs)
    print(f"  a request, encrypted and signed for: ours {ours:.1f} us, node's web-push "
          f"generateRequestDetails {theirs:.1f} us: {ratio:.1f} times")
    return code


if __name__ == "__main__":
    sys.exit(main())
