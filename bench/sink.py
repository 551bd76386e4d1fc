"""A push service of nginx for a bench: HTTP/2 and TLS, 201 for each, and a log of what came, when."""

import contextlib
import pathlib
import re
import sys
import time

from nginx import nginx

# As a push service, it may answer before the body was read. The log is written in pieces, which
# costs nginx less; its times are those of the answers.
SERVER = """\
        listen 127.0.0.1:{ports[0]} ssl http2;
        ssl_protocols TLSv1.3;
        access_log {folder}/access.log arrivals buffer=64k flush=100ms;
        location / {{
            add_header Location "https://127.0.0.1:{ports[0]}/message/0:1693526401123456%7031b2e6f9fd7ecd";
            add_header TTL 86400;
            return 201;
        }}"""
LOG_FORMAT = "log_format arrivals '$msec $status $request_uri';"
LINE = re.compile(rb"(\d+)\.(\d+) 201 /\D+(\d{10})")


class Sink:
    def __init__(self, port, certificate):
        self.origin = f"https://127.0.0.1:{port}"
        self.certificate = certificate
        self.path = pathlib.Path(certificate).parent / "access.log"
        self.offset = 0  # of what was read

    def arrivals(self, count, timeout_s):
        """(number of the message, wall clock in ms) of the next ones, as they came, until there are
        that many; what comes within 0.3 s after is among them, so that none is there too often
        unseen."""
        found = []
        end = time.monotonic() + timeout_s
        with self.path.open("rb") as log:
            while len(found) < count and time.monotonic() < end:
                time.sleep(0.1)
                found += self.read(log)
            time.sleep(0.3)
            found += self.read(log)
        return found

    def read(self, log):
        log.seek(self.offset)
        text = log.read()
        text = text[:text.rfind(b"\n") + 1]
        self.offset += len(text)
        lines = text.splitlines()
        matches = [LINE.match(line) for line in lines]
        if not all(matches):
            sys.exit(f"bench: the sink was asked for {lines[matches.index(None)]!r}")
        return [(int(match[3]), int(match[1]) * 1000 + int(match[2])) for match in matches]

    def once_each(self, first, count, timeout_s):
        """The time of arrival of each message from number first on, which must all come, once."""
        found = self.arrivals(count, timeout_s)
        numbers = {number for number, _ in found}
        missing = set(range(first, first + count)) - numbers
        if missing or len(found) != count:
            sys.exit(f"bench: of {count} messages {len(missing)} did not arrive in {timeout_s} s, and "
                     f"{len(found) - len(numbers)} came twice")
        return dict(found)


@contextlib.contextmanager
def sink(preexec=None):
    with nginx(SERVER, 1, preexec, http=LOG_FORMAT) as ((port,), certificate):
        yield Sink(port, certificate)


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))]
