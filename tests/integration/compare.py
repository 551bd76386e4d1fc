#!/usr/bin/python3
"""The same faults through curl, wget and `lull fetch`, side by side.

    tests/integration/compare.py            prints the table
    tests/integration/compare.py --write    and puts it into docs/fetch-comparison.md

Each run has a fresh path on a scripted server, which counts what arrived and when. The runs mostly
wait, so they go side by side.
"""

import concurrent.futures
import subprocess
import sys
import time
from typing import NamedTuple

import h2_peer
import scripted
from fetching import PROGRAM, ROOT
from scripted import answer
from servers import World, free_port

PAGE = ROOT / "docs" / "fetch-comparison.md"
TIMEOUT_S = 60
BODY = "order=1"

TOOLS = {
    "curl --retry-all-errors": ["curl", "--retry", "3", "--retry-all-errors", "--fail", "-sS",
                                "-m", "2"],
    "curl --retry": ["curl", "--retry", "3", "--fail", "-sS", "-m", "2"],
    "wget": ["wget", "-q", "--tries=4", "--retry-connrefused",
             "--retry-on-http-error=429,500,502,503,504", "-T", "2"],
    "lull fetch": [PROGRAM, "fetch", "-s", "--retries", "3", "-f", "-m", "2"],
}
LULL = "lull fetch"


class Fault(NamedTuple):
    name: str
    steps: tuple
    is_post: bool = False
    where: str = "scripted"  # or h2, refused, or a kind of bad certificate
    asked_s: float = 0  # what Retry-After asks for
    is_possible: bool = True  # can three retries deliver it, without a risk of doing it twice
    processed: int = 0  # how many of the first requests were processed though the answer was lost


class Row(NamedTuple):
    fault: str
    tool: str
    is_delivered: bool
    attempts: int
    duplicates: int
    early: str  # "-": nothing was asked, or nothing was retried
    wall_s: float


def later(seconds):
    return [("Retry-After", str(seconds))]


def date_later(seconds):
    return lambda now: [("Retry-After", time.strftime("%a, %d %b %Y %H:%M:%S GMT",
                                                      time.gmtime(int(now) + 1 + seconds)))]


OK = answer(200)
FAULTS = [
    Fault("503 twice", (answer(503), answer(503), OK)),
    Fault("500 twice", (answer(500), answer(500), OK)),
    Fault("503, Retry-After: 2", (answer(503, later(2)), OK), asked_s=2),
    Fault("429, Retry-After: 3", (answer(429, later(3)), OK), asked_s=3),
    Fault("429, Retry-After: a date in 3 s", (answer(429, date_later(3)), OK), asked_s=3),
    Fault("429, Retry-After-Ms: 2500", (answer(429, [("Retry-After-Ms", "2500")]), OK),
          asked_s=2.5),
    Fault("429, RateLimit-Reset: 3", (answer(429, [("RateLimit-Reset", "3")]), OK), asked_s=3),
    Fault("reset before the headers", (scripted.reset(), OK)),
    Fault("close before the headers", (scripted.close(), OK)),
    Fault("reset in the body", (scripted.reset_in_body(), OK)),
    Fault("a hang", (scripted.hang(), OK)),
    Fault("404", (answer(404), OK), is_possible=False),
    Fault("connection refused", (), where="refused", is_possible=False),
    Fault("an expired certificate", (OK,), where="expired", is_possible=False),
    Fault("HTTP/2 GOAWAY, nothing processed", (h2_peer.goaway_unprocessed(), h2_peer.answer(200)),
          where="h2"),
    Fault("HTTP/2 REFUSED_STREAM twice, POST",
          (h2_peer.refuse(), h2_peer.refuse(), h2_peer.answer(200)), is_post=True, where="h2"),
    Fault("POST, processed, then a reset", (scripted.reset(), OK), is_post=True, processed=1,
          is_possible=False),
    Fault("POST, processed, then a hang", (scripted.hang(), OK), is_post=True, processed=1,
          is_possible=False),
    Fault("POST, processed, then 504", (answer(504), OK), is_post=True, processed=1,
          is_possible=False),
    Fault("POST, 201, then a reset in the body", (scripted.reset_in_body(201), answer(201)),
          is_post=True, processed=1, is_possible=False),
]


def target(world, fault, path):
    """The server of a fault and the URL on it."""
    if fault.where == "refused":
        return None, f"http://127.0.0.1:{free_port()}{path}"
    if fault.where == "scripted":
        return world.scripted, f"http://127.0.0.1:{world.scripted.port}{path}"
    server = world.h2 if fault.where == "h2" else world.bad_tls[fault.where]
    return server, f"https://127.0.0.1:{server.port}{path}"


def command_for(tool, fault, url, world):
    command = list(TOOLS[tool])
    if tool == "wget":
        command += ["-O", "/dev/null", f"--ca-certificate={world.certificates.authority}"]
        command += [f"--post-data={BODY}"] if fault.is_post else []
    else:
        command += ["-o", "/dev/null", "--cacert", str(world.certificates.authority)]
        command += ["-d", BODY] if fault.is_post else []
    return command + [url]


def earliness(fault, seen):
    """How the first retry kept to the wait that was asked for, by the server's clock."""
    if not fault.asked_s or len(seen) < 2:
        return "-"
    asked_s, waited_s = fault.asked_s, seen[1].time - seen[0].time
    early_s = asked_s - waited_s
    return f"{early_s:.1f} s early" if early_s > 0.005 else "no"


def run_one(world, fault, tool):
    path = f"/compare/{FAULTS.index(fault)}/{list(TOOLS).index(tool)}"
    server, url = target(world, fault, path)
    if tool == "wget" and fault.where == "h2":
        return None  # it has no HTTP/2
    if server:
        server.script(path, *fault.steps)
    connections = server.connections if server else 0
    started = time.monotonic()
    done = subprocess.run(command_for(tool, fault, url, world), stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=TIMEOUT_S)
    wall_s = time.monotonic() - started
    seen = server.requests(path) if server else []
    attempts = len(seen)
    if fault.where in world.bad_tls:
        attempts = server.connections - connections
    if fault.where == "refused":
        attempts = -1  # nobody is there to count
    duplicates = max(sum(request.is_accepted for request in seen) - 1, 0) if fault.processed else 0
    return Row(fault.name, tool, done.returncode == 0, attempts, duplicates, earliness(fault, seen), wall_s)


def run_all(world, tools=tuple(TOOLS)):
    """Rows by (fault, tool). Faults that count connections have one tool at a time."""
    rows = {}

    def run_tools(fault):
        return [(tool, run_one(world, fault, tool)) for tool in tools]

    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        for fault, results in zip(FAULTS, pool.map(run_tools, FAULTS)):
            rows.update({(fault.name, tool): row for tool, row in results})
    return rows


# ---- the page ----

COLUMNS = ("fault", "tool", "delivered", "attempts", "duplicates", "early", "wall time")


def cells(row):
    """The columns of a row as they stand in the page."""
    return (row.fault, row.tool, "yes" if row.is_delivered else "no",
            "?" if row.attempts < 0 else str(row.attempts), str(row.duplicates), row.early,
            f"{row.wall_s:.1f} s")


def table(rows):
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    for fault in FAULTS:
        for tool in TOOLS:
            row = rows.get((fault.name, tool))
            lines.append("| " + " | ".join(cells(row) if row else
                                           (fault.name, tool, *["no HTTP/2"] + ["-"] * 4)) + " |")
    return "\n".join(lines)


def version(program):
    return subprocess.run([program, "--version"], text=True, capture_output=True,
                          timeout=10).stdout.split("\n")[0].split(" (")[0]


def summary(rows):
    lines = ["| tool | delivered | duplicated POSTs | too early |", "|---|---|---|---|"]
    for tool in TOOLS:
        mine = [row for (_, name), row in rows.items() if name == tool and row]
        lines.append(f"| {tool} | {sum(r.is_delivered for r in mine)} of {len(mine)} | "
                     f"{sum(r.duplicates for r in mine)} | "
                     f"{sum(r.early.endswith('early') for r in mine)} of "
                     f"{sum(r.early != '-' for r in mine)} |")
    return "\n".join(lines)


def page(rows):
    commands = "\n".join("    " + " ".join(["lull"] + command[1:] if tool == LULL else command)
                         for tool, command in TOOLS.items())
    return f"""# The same faults through three programs

Written by `make compare`; a test runs it again and compares. {version("curl")}, {version("wget")},
{version(PROGRAM)}, each with three retries and 2 s for an attempt:

{commands}

with `-d {BODY}` (wget: `--post-data={BODY}`) for a POST. All servers are on loopback, so the wall
time is nearly all waiting.

- *attempts*: requests that the server saw; for a certificate, connections.
- *duplicates*: a POST that was processed, and then processed again.
- *early*: whether the first retry came before the time that the server had asked for.
- *delivered*: the program ended with 0, by the same rule for all. Where a POST may have been
  processed, lull does not repeat it without `--idempotency-key`, and says that with exit code 5;
  of a 201 whose body broke off it says so with exit code 7. Those are "no" here.
- The 404 is followed by a 200 if somebody asks again, which most 404s are not.

{summary(rows)}

{table(rows)}
"""


def read_page(text):
    """The rows of a page by (fault, tool), as cells."""
    found = {}
    for line in text.splitlines():
        parts = tuple(part.strip() for part in line.strip("|").split("|"))
        if len(parts) == len(COLUMNS) and parts[1] in TOOLS:
            found[parts[:2]] = parts
    return found


def main(arguments):
    with World() as world:
        rows = run_all(world)
    text = page(rows)
    print(text)
    if "--write" in arguments:
        PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
