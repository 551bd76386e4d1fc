#!/usr/bin/python3
"""Runs bench-send against an nginx of its own, each on a core of its own. Usage:
send.py BENCH-SEND [OPTION...]; without an option of bench-send: the comparison, and then the memory."""

import os
import subprocess
import sys

from daemons import on_core
from nginx import nginx

# The answer of a push service. It comes before the body was read, if that is still on its way.
SERVER = """\
        listen 127.0.0.1:{ports[0]} ssl http2;
        ssl_protocols TLSv1.3;
        location / {{
            add_header Location "https://127.0.0.1:{ports[0]}/message/0:1693526401123456%7031b2e6f9fd7ecd";
            add_header TTL 86400;
            return 201;
        }}"""


def main():
    program, options = sys.argv[1], sys.argv[2:]
    if len(os.sched_getaffinity(0)) < 2:
        print("bench/send.py: one core for both: the figures are not to be trusted")
    with nginx(SERVER, 1, preexec=on_core(0)) as ((port,), certificate):
        command = [program, f"https://127.0.0.1:{port}", certificate]
        return max([subprocess.call([*command, *arguments], preexec_fn=on_core(-1))
                    for arguments in ([options] if options else ([], ["--memory"]))])


if __name__ == "__main__":
    sys.exit(main())
