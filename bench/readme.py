#!/usr/bin/python3
"""Writes the figures of a `make bench` (standard input) into the README, between its two marks."""

import pathlib
import re
import sys

README = pathlib.Path(__file__).resolve().parent.parent / "README.md"
BEGIN, END = "<!-- figures: make figures -->\n", "<!-- end of figures -->"


def find(pattern, text):
    match = re.search(pattern, text)
    if not match:
        sys.exit(f"bench/readme.py: the output of make bench has no {pattern!r}")
    return match.groups()


def decisions(text):
    (clock,) = find(r"clock_gettime ([\d.]+) ns", text)
    mean, ratio = find(r"mean of these +([\d.]+) ns +([\d.]+) x", text)
    (success,) = find(r"\n  201 +([\d.]+) ns", text)
    (throttled,) = find(r"429, Retry-After: 120, 8 headers +([\d.]+) ns", text)
    (unavailable,) = find(r"503, Retry-After: date, 4 headers +([\d.]+) ns", text)
    (seconds,) = find(r"\n  120 +([\d.]+) ns", text)
    (date,) = find(r"Thu, 01 Jan 2026 00:02:00 GMT +([\d.]+) ns", text)
    (times,) = find(r"tenacity \d+ ns: (\d+) times", text)
    return f"""\
**One decision** (`lull_decide`) takes {mean} ns in the mean, {ratio} times one `clock_gettime`
({clock} ns), and allocates nothing: {success} ns for a 201, {throttled} ns for a 429 with Retry-After among
eight headers, {unavailable} ns for a 503 with an HTTP-date. Reading `Retry-After` alone: {seconds} ns for seconds,
{date} ns for a date. Python's tenacity takes {times} times as long for the same decisions.
"""


def pacing(text):
    rows = []
    for scenario in text[text.index("bench/pace"):text.index("bench/storm")].strip().split("\n\n")[1:]:
        name, *controllers = scenario.strip().split("\n")
        cells = [" ×, ".join(find(r"([\d.]+) \([\d.]+\) x ideal +([\d.]+) %", line)) + " %"
                 for line in controllers[:4]]
        rows.append(" | ".join(["", name.split(", ideal")[0].replace(" > ", " → "), *cells, ""]))
    table = "\n".join(row.strip() for row in rows)
    return f"""\
**Finding a limit that nobody told**: 20,000 messages to a server that takes so many a second with a
burst of 50 and answers 429 beyond. Drain time over the ideal, and refusals per delivered message:

| the server's limit | in-flight limit (rule P2) | AIMD | AWS-style CUBIC | Lull |
|---|---|---|---|---|
{table}
"""


def requests(text):
    def ratio(name):
        block = text[text.index(f"bench/http, {name}:"):]
        return find(r"curl_easy_perform +([\d.]+) us[^\n]*\n[^\n]*again[^\n]*\n[^\n]*own handle +[\d.]+ us +([\d.]+) x", block)

    (us, h2), (_, h1), (plain_us, plain) = (ratio(name) for name in (
        "HTTPS, HTTP/2", "HTTPS, HTTP/1.1", "plain HTTP/1.1"))
    return f"""\
**A request that succeeds** (`lull_http_perform`, on a handle of the caller's) takes {h2} times
`curl_easy_perform` over HTTPS with HTTP/2 ({us} µs), {h1} times with HTTP/1.1, and {plain} times
without TLS ({plain_us} µs), all on loopback.
"""


def pushes(text):
    block = text[text.index("bench/webpush"):]
    us, ratio = find(r"lull_push_encrypt +([\d.]+) us +([\d.]+) x all four", block)
    ahead_us, ahead = find(r"keys made ahead +([\d.]+) us +([\d.]+) x that", block)
    own, peer, times = find(r"ours ([\d.]+) us, node's web-push generateRequestDetails ([\d.]+) us: ([\d.]+) times",
                            block)
    return f"""\
**A push** of 200 bytes (`lull_push_encrypt`) takes {us} µs, {ratio} times the bare P-256 multiplications,
hashes and cipher that it cannot do without; with key pairs made ahead {ahead_us} µs, {ahead} times what is then
left. Encrypted and with its Authorization header {own} µs; `generateRequestDetails` of node's web-push, which
signs each time where Lull uses a token again, takes {peer} µs: {times} times as long.
"""


def sending(text):
    block = text[text.index("bench/send:"):]
    (bare,) = find(r"a bare nghttp2 loop +([\d.]+) us CPU", block)
    us, ratio = find(r"\n  ours +([\d.]+) us CPU +([\d.]+) x the bare loop", block)
    (curl,) = find(r"libcurl multi +([\d.]+) us CPU", block)
    (late,) = find(r"after their 201 had arrived \(([\d.]+) %\)", block)
    (encryption,) = find(r"encryption alone +([\d.]+) us CPU", block)
    (encrypted,) = find(r"ours, encrypted +([\d.]+) us CPU", block)
    requests_count, growth = find(r"memory: (\d+) requests,[^;]*;\s+grown by (-?\d+) KB", block)
    return f"""\
**Sending** over HTTP/2 (300 bytes, four connections of 100 streams, to nginx on the other core) takes {us} µs
of CPU a request, {ratio} times a bare nghttp2 loop ({bare} µs) that knows no timeouts and keeps no answer.
libcurl's multi interface takes {curl} µs, and called {late} % of its transfers failed after their 201 had
arrived. A push, encrypted and sent: {encrypted} µs, of which encryption alone is {encryption} µs. Over
{int(requests_count):,} requests memory grew by {growth} KB.
"""


def delivering(text):
    block = text[text.index("bench/deliver:"):]
    (messages,) = find(r"bench/deliver: ([\d,]+) encrypted", block)
    us, per_s, resident = find(r"\n  Lull +([\d.]+) us CPU +([\d,]+) per s .* ([\d.]+) MB resident", block)
    peer_us, peer_per_s = find(r"BullMQ, node web-push +([\d.]+) us CPU +([\d,]+) per s", block)
    (ratio,) = find(r"BullMQ takes ([\d.]+) times as much", block)
    p50, p99, pace = find(r"p50 (-?\d+) ms, p99 (\d+) ms of ([\d,]+) per s", block)
    return f"""\
**End to end**: {messages} encrypted Web Pushes, in by batch to `lull serve`, synced to disk, out by HTTP/2 and TLS
to nginx on the other core, each exactly once: {us} µs of CPU each, API and store included, {per_s} per second
on one core, {resident} MB resident. BullMQ with node's web-push and Redis on the same core: {float(peer_us):,.0f} µs and
{peer_per_s} per second, {ratio} times as much. At {pace} per second, one POST each, nginx has answered
{p50} ms after the POST was sent in the median, {p99} ms in 99 of 100.
"""


def queueing(text):
    block = text[text.index("bench/queue:"):]
    rows = re.findall(r"^  (\S.*?, [a-z ]+?) +([\d.,e+-]+) +([\d.,e+-]+) +([\d.,e+-]+) +([\d.,e+-]+) +([\d.]+) x$",
                      block, re.MULTILINE)
    if not rows:
        sys.exit("bench/readme.py: bench/queue has no rows")
    table = "\n".join("| " + " | ".join(row) + " × |" for row in rows)
    resident, = find(r"resident with [\d,]+ that wait: ([\d.]+) MB", block)
    return f"""\
**The queue**, beside BullMQ on Redis (synced once a second) and beanstalkd (synced for each job, and each 50 ms);
Lull syncs each commit, and delivers to nginx by HTTP/2 and TLS where the jobs of the others do nothing. BullMQ
takes POSTs by a server of node's, and in the row without HTTP calls in its own process. With 1,000,000 messages
that wait Lull has {resident} MB resident.

| | Lull | BullMQ | beanstalkd | each 50 ms | Lull to BullMQ |
|---|---|---|---|---|---|
{table}
"""


def storm(text):
    block = text[text.index("bench/storm"):]
    rows = re.findall(r"^(curl|lull)(.*?) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +([\d.]+) s$", block,
                      re.MULTILINE)
    if len(rows) != 3:
        sys.exit("bench/readme.py: the storm has not its three rows")
    names = {"curl": "`curl{} --retry-all-errors`", "lull": "`lull fetch --retries 5 --policy '{}'`"}
    table = "\n".join(
        f"| {names[tool].format(rest if tool == 'curl' else rest.strip())} | {delivered} | {total} "
        f"| {outage} | {after} | {after_1s} |"
        for tool, rest, delivered, total, outage, _, after, after_1s, _ in rows)
    return f"""\
**A storm**: 1,000 clients, each a process, to a server that answers all of them 503 at once, goes on
so for 10 s, and then is well again. Peaks of requests:

| client | delivered | requests | in 100 ms of the outage | in 100 ms after it | in 1 s after it |
|---|---|---|---|---|---|
{table}

With full jitter `base=1s` waits half as long as curl in the mean, and more clients run out of
retries; `base=2s` waits as long.
"""


def main():
    text = sys.stdin.read()
    sys.stdout.write(text)
    before, rest = README.read_text().split(BEGIN)
    after = rest.split(END)[1]
    README.write_text(before + BEGIN + "\n" + "\n".join(
        part(text) for part in (decisions, pushes, sending, delivering, queueing, requests, storm,
                                      pacing)) + "\n" + END + after)


if __name__ == "__main__":
    main()
