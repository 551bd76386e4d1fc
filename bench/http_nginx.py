#!/usr/bin/python3
"""Runs bench-http against an nginx of its own on free loopback ports. Usage: http_nginx.py BENCH-HTTP"""

import subprocess
import sys

from nginx import nginx

SERVER = """\
        listen 127.0.0.1:{ports[0]}; listen 127.0.0.1:{ports[1]} ssl;
        listen 127.0.0.1:{ports[2]} ssl http2;
        location / {{ return 200 "a small response\\n"; }}"""


def main():
    with nginx(SERVER, 3) as (ports, certificate):
        return max([subprocess.call([sys.argv[1], name, f"{scheme}://127.0.0.1:{port}/", *ca])
                    for name, scheme, port, ca in (
                        ("HTTPS, HTTP/2", "https", ports[2], [certificate]),
                        ("HTTPS, HTTP/1.1", "https", ports[1], [certificate]),
                        ("plain HTTP/1.1", "http", ports[0], []))])


if __name__ == "__main__":
    sys.exit(main())
