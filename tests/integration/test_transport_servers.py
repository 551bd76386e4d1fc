"""The transport against real nginx and HAProxy: none lost, none reported failed, none sent twice, by the
servers' own logs.

LULL_TRANSPORT_COUNT changes how many requests the long runs make, for a million by hand:

    LULL_TRANSPORT_COUNT=1000000 python3 -m pytest -k many \\
        tests/integration/test_transport_servers.py
"""

import collections
import itertools
import os
import signal
import socket
import threading
import time

import pytest

from driving import FAST, PROGRAM, TSAN, drive, finish, start
from scripted import answer, close, hang, reset
from servers import HAPROXY, Nginx, Program, free_port

COUNT = int(os.environ.get("LULL_TRANSPORT_COUNT", 100_000))
LONG_S = 120 + COUNT // 1000
SECRET = "s3cret"
RSS_GROWTH_KB = 3000  # over nine tenths of a run, however long
BAD_CERTIFICATES = ("expired", "wrong_host", "self_signed")

_runs = itertools.count(1)


class Sink(Nginx):
    """nginx in every mood, each on a port of its own. Its answer is the path that was asked for."""

    def __init__(self, folder, certificates):
        self.ports = {name: free_port() for name in (
            "early", "late", "goaway", "single", "tls12", "h1", "client_certificate", "plain")}
        tls = (f"ssl_certificate {certificates.chain('good')};"
               f"ssl_certificate_key {certificates.key('good')};")
        quick = "return 201 $request_uri;"

        def server(name, listen="ssl http2", rest=quick):
            return (f"server {{ listen 127.0.0.1:{self.ports[name]} {listen} backlog=4096;"
                    f"{tls if 'ssl' in listen else ''} keepalive_requests 100000000; {rest} }}\n")

        upstream = f"unix:{folder}/upstream.sock"
        super().__init__(folder, f"""
    upstream sink {{ server {upstream}; keepalive 64; }}
    server {{ listen {upstream} backlog=4096; access_log off; keepalive_requests 100000000; {quick} }}
    """ + server("early")
            # The whole body is read before the upstream is asked.
            + server("late", rest="""location / { proxy_pass http://sink; proxy_http_version 1.1;
                proxy_set_header Connection ""; client_body_buffer_size 64k; }""")
            + server("goaway", rest=quick).replace("keepalive_requests 100000000",
                                                   "keepalive_requests 3")
            + server("single", rest="http2_max_concurrent_streams 1;" + quick)
            + server("tls12", rest="ssl_protocols TLSv1.2;" + quick)
            + server("h1", "ssl")
            + server("client_certificate", rest=f"ssl_verify_client on; ssl_client_certificate "
                                                f"{certificates.authority};" + quick)
            + server("plain", ""),
            list(self.ports.values()))

    def url(self, name, host="127.0.0.1"):
        scheme = "http" if name == "plain" else "https"
        return f"{scheme}://{host}:{self.ports[name]}"


class Haproxy(Program):
    """HAProxy as a sink of its own, early and late, and one that insists on a client certificate."""

    def __init__(self, folder, certificates):
        self.ports = {name: free_port() for name in ("early", "late", "client_certificate")}
        tls = f"ssl crt {certificates.both('good')} alpn h2,http/1.1"
        (folder / "haproxy.cfg").write_text(f"""
global
    nbthread 1  # two would at times drop a line of the log rather than wait for each other
    log stdout format raw local0
    maxconn 2000
defaults
    mode http
    log global
    log-format {{\\"path\\":\\"%[var(txn.path)]\\",\\"status\\":%ST}}
    timeout client 30s
    timeout client-fin 1s
    timeout http-request 10s
frontend front
    bind 127.0.0.1:{self.ports["early"]} {tls}
    bind 127.0.0.1:{self.ports["late"]} {tls}
    bind 127.0.0.1:{self.ports["client_certificate"]} {tls} ca-file {certificates.authority} verify required
    http-request set-var(txn.path) path
    http-request wait-for-body time 10s if {{ dst_port {self.ports["late"]} }}
    http-request return status 201 content-type text/plain lf-string %[path]
""")
        super().__init__(folder, [HAPROXY, "-db", "-f", str(folder / "haproxy.cfg")],
                         list(self.ports.values()))

    url = Sink.url


@pytest.fixture(scope="module")
def servers(world, tmp_path_factory):
    folders = {name: tmp_path_factory.mktemp(name) for name in ("nginx", "haproxy")}
    started = []
    try:
        started.append(Sink(folders["nginx"], world.certificates))
        started.append(Haproxy(folders["haproxy"], world.certificates))
        yield dict(zip(("nginx", "haproxy"), started))
    finally:
        for server in started:
            server.stop()


def arguments(world, server, name, count, *options, host="127.0.0.1"):
    """Of a run whose requests all have a path of their own; returns the prefix of those, too."""
    prefix = f"/{SECRET}{next(_runs)}"
    return prefix, ("--ca", world.certificates.authority, "--allow-private", "--path-number",
                    "--url", server.url(name, host) + prefix, "--count", count,
                    "--header", f"authorization:{SECRET}", *options)


def check_log(server, prefix, count):
    """Each path exactly once."""
    counts = server.counts(prefix, count)
    assert len(counts) == count and set(counts.values()) == {1}, \
        [item for item in counts.items() if item[1] != 1][:10]


def run(world, server, name, count, *options, program=PROGRAM, protocol="http/2", echo=True,
        host="127.0.0.1"):
    """All are answered 201 at the first attempt, each with its own answer, and are in the log once."""
    prefix, options = arguments(world, server, name, count, *(["--echo"] if echo else []), "--quiet",
                                *options, host=host)
    summary = drive(*options, program=program, timeout_s=LONG_S).summary
    assert summary["statuses"] == {"201": count}, summary
    assert summary["protocols"] == {protocol: count}
    assert (summary["incomplete"], summary["cut"], summary["retries"]) == (0, 0, 0)
    check_log(server, prefix, count)
    return summary


# ---- many ----


@pytest.mark.parametrize("server", ["nginx", "haproxy"])
@pytest.mark.parametrize("name", ["early", "late"])
def test_many_posts_are_sent_once_and_memory_is_flat(world, servers, server, name):
    summary = run(world, servers[server], name, COUNT, "--in-flight", 200, "--body-size", 1000,
                  program=FAST)
    assert summary["connections"] <= 8
    if COUNT >= 10_000 and FAST != PROGRAM:  # a sanitizer keeps what was freed for a while
        assert summary["rss_end_kb"] - summary["rss_tenth_kb"] < RSS_GROWTH_KB, summary


@pytest.mark.parametrize("server", ["nginx", "haproxy"])
@pytest.mark.parametrize("name", ["early", "late"])
@pytest.mark.parametrize("size, count", [(0, 1000), (4096, 1000), (200_000, 100)])
def test_bodies_of_every_size(world, servers, server, name, size, count):
    """A 201 that comes before the body was read stands, also when the server then resets the stream."""
    run(world, servers[server], name, count, "--in-flight", 50, "--body-size", size)


def test_each_thread_has_a_transport(world, servers):
    run(world, servers["nginx"], "early", 2000, "--threads", 4, "--in-flight", 20, "--body-size", 300,
        program=TSAN)


# ---- a server's limits ----


@pytest.mark.parametrize("in_flight", [1, 4, 50])
def test_goaway_every_3_requests(world, servers, in_flight):
    summary = run(world, servers["nginx"], "goaway", 600, "--in-flight", in_flight, "--body-size", 300)
    assert summary["connections"] >= 200


@pytest.mark.parametrize("connections", [1, 4])
def test_one_stream_at_a_time(world, servers, connections):
    summary = run(world, servers["nginx"], "single", 500, "--in-flight", 40, "--connections",
                  connections, "--body-size", 300)
    assert summary["connections"] <= connections


def test_tls_1_2(world, servers):
    run(world, servers["nginx"], "tls12", 500, "--in-flight", 40, "--body-size", 300)


@pytest.mark.parametrize("name", ["h1", "plain"])
def test_http_1_only(world, servers, name):
    """Found out by ALPN, before anything is sent."""
    run(world, servers["nginx"], name, 500, "--in-flight", 40, "--body-size", 300,
        protocol="http/1.1")


# ---- certificates ----


@pytest.mark.parametrize("kind", BAD_CERTIFICATES)
def test_a_bad_certificate(world, path, kind):
    url = f"https://127.0.0.1:{world.nginx.bad_ports[kind]}{path}/{SECRET}"
    driven = drive("--allow-private", "--ca", world.certificates.authority, "--url", url, "--count",
                   3, "--in-flight", 2, secrets=(SECRET, "127.0.0.1"))
    assert set(driven.words) == {"tls"} and set(driven.effects) == {"not_sent"}
    assert world.nginx.entries(f"{path}/{SECRET}") == []


def test_an_authority_that_nobody_named(servers):
    driven = drive("--allow-private", "--url", servers["nginx"].url("early") + f"/{SECRET}/ca",
                   secrets=(SECRET,))
    assert (driven.words, driven.effects) == (["tls"], ["not_sent"])
    assert servers["nginx"].counts(f"/{SECRET}/ca") == {}


def test_nginx_asks_for_a_client_certificate(world, servers):
    """It says so with a 400, which is an answer."""
    prefix, options = arguments(world, servers["nginx"], "client_certificate", 5, "--in-flight", 5)
    driven = drive(*options, secrets=(SECRET,))
    assert driven.words == [400] * 5
    check_log(servers["nginx"], prefix, 5)


def test_haproxy_insists_on_a_client_certificate(world, servers):
    """TLS 1.3 lets the client believe that all is well, until its first read."""
    prefix, options = arguments(world, servers["haproxy"], "client_certificate", 5, "--in-flight", 5)
    driven = drive(*options, secrets=(SECRET,))
    assert set(driven.words) <= {"tls", "tls_handshake"} and set(driven.effects) == {"not_sent"}
    assert servers["haproxy"].counts(prefix) == {}


# ---- outcomes are exact ----


def check_exact(server, prefix, driven):
    """By the log: what was answered is there once; what was not sent, or refused, is not there; what is
    unknown, once at most."""
    words = collections.Counter(driven.words)
    counts = server.counts(prefix, sum(outcome.status != 0 for outcome in driven.outcomes))
    for outcome in driven.outcomes:
        seen = counts.pop(f"{prefix}/{outcome.index}", 0)
        allowed = (1,) if outcome.status else (0, 1) if outcome.effect == "unknown" else (0,)
        assert seen in allowed, (seen, outcome, words)
    assert counts == {}
    return words


@pytest.mark.parametrize("option, value, late", [
    ("--cancel-after", 2, "cancelled"), ("--timeout", 4, "timeout"),
    ("--first-byte-timeout", 2, None), ("--connect-timeout", 2, "connect_timeout")])
@pytest.mark.parametrize("server, name", [("nginx", "late"), ("haproxy", "early"), ("nginx", "h1")])
def test_too_little_time_under_load(world, servers, server, name, option, value, late):
    prefix, options = arguments(world, servers[server], name, 3000, "--in-flight", 300, "--streams",
                                30, "--body-size", 3000, option, value)
    driven = drive(*options, secrets=(SECRET,))
    words = check_exact(servers[server], prefix, driven)
    assert set(words) <= {201, "cancelled", "timeout", "connect_timeout"}, words
    # A handshake alone takes longer; how far the others come in that time, the machine says.
    assert late is None or words[late] + words["connect_timeout"] > 0, words


# ---- a server that goes away under load ----

RESTARTED = 20_000


def check_restarted(world, server, name, act, *options):
    """While the requests run, act() is done again and again."""
    prefix, options = arguments(world, server, name, RESTARTED, "--in-flight", 100, "--body-size",
                                300, "--timeout", 10_000, *options)
    process = start(*options)
    stop = threading.Event()

    def keep_acting():
        while not stop.wait(0.1) and process.poll() is None:
            act()

    acting = threading.Thread(target=keep_acting)
    acting.start()
    try:
        driven = finish(process, secrets=(SECRET,))
    finally:
        stop.set()
        acting.join()
    words = check_exact(server, prefix, driven)
    assert driven.summary["connections"] > 1 and words[201] > 0
    return words


def test_nginx_reloads_under_load(world, servers):
    """The old worker ends gracefully, by GOAWAY: nothing becomes unknown."""
    words = check_restarted(world, servers["nginx"], "early",
                            lambda: servers["nginx"].signal(signal.SIGHUP), "--retry-refused")
    assert words == {201: RESTARTED}


@pytest.mark.parametrize("server", ["nginx", "haproxy"])
def test_a_restart_under_load(world, servers, server):
    def restart():
        servers[server].stop()
        servers[server].start()

    words = check_restarted(world, servers[server], "early", restart, "--retry-refused")
    assert set(words) <= {201, "reset", "timeout"}, words


def test_a_restart_under_load_as_it_is_reported(world, servers):
    """Without repeating what was refused: all the classes, by the log."""
    def restart():
        servers["nginx"].stop()
        servers["nginx"].start()

    words = check_restarted(world, servers["nginx"], "early", restart)
    assert set(words) <= {201, "reset", "refused", "tls_handshake", "goaway"}, words


# ---- resets and hangs, through real servers ----


@pytest.mark.parametrize("step, word", [(reset(), 502), (close(), 502), (answer(418), "reset"),
                                        (hang(), "timeout"), (answer(503), 503)],
                         ids=["reset", "close", "444", "hang", "503"])
def test_nginx_and_what_is_behind_it(world, path, step, word):
    world.scripted.script(path, step)
    driven = drive("--allow-private", "--ca", world.certificates.authority, "--body-size", 100,
                   "--first-byte-timeout", 400, "--url", world.nginx.url(path, tls=True),
                   secrets=(path,))
    outcome, = driven.outcomes
    assert (outcome.word, outcome.protocol) == (word, "http/2")
    assert outcome.effect == ("unknown" if outcome.status == 0 else "refused")
    assert len(world.scripted.requests(path)) == 1


@pytest.mark.parametrize("fault, words", [("reject", {"reset"}), ("drop", {"timeout", "reset"}),
                                          ("tarpit", {500}), ("deny", {403}), ("burst", {503})])
def test_what_haproxy_does_by_itself(world, path, fault, words):
    path = f"/own/{fault}{path}"
    driven = drive("--allow-private", "--ca", world.certificates.authority, "--body-size", 100,
                   "--first-byte-timeout", 1500, "--timeout", 2000, "--url",
                   world.haproxy.url(path, tls=True), secrets=(path,))
    outcome, = driven.outcomes
    assert outcome.word in words
    assert outcome.effect == ("unknown" if outcome.status == 0 else "refused")


@pytest.mark.parametrize("step, word", [(reset(), "reset"), (close(), "reset"),
                                        (hang(), "timeout"), (answer(201), 201)],
                         ids=["reset", "close", "hang", "201"])
@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
def test_over_http_1(world, path, step, word, tls):
    server = world.scripted_tls if tls else world.scripted
    server.script(path, step)
    driven = drive("--allow-private", "--ca", world.certificates.authority, "--body-size", 100,
                   "--first-byte-timeout", 400, "--url",
                   f"http{'s' * tls}://127.0.0.1:{server.port}{path}", secrets=(path,))
    outcome, = driven.outcomes
    assert (outcome.word, outcome.protocol) == (word, "http/1.1")
    assert outcome.effect == ("unknown" if outcome.status == 0 else "refused")
    request, = server.requests(path)
    assert (request.method, len(request.body)) == ("POST", 100)


# ---- names, addresses, proxies ----


def test_a_name_with_both_families(world, servers):
    """localhost is ::1 too, where nobody listens."""
    summary = run(world, servers["nginx"], "early", 50, "--in-flight", 10, host="localhost")
    assert summary["connections"] <= 4
    run(world, servers["nginx"], "plain", 50, "--in-flight", 10, host="localhost",
        protocol="http/1.1")


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_no_such_name(scheme):
    driven = drive("--url", f"{scheme}://{SECRET}.invalid/{SECRET}", "--count", 3, "--in-flight", 3,
                   "--timeout", 20_000, secrets=(SECRET,))
    assert set(driven.words) <= {"dns", "dns_not_found"} and set(driven.effects) == {"not_sent"}


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_nobody_there(scheme):
    driven = drive("--allow-private", "--url", f"{scheme}://127.0.0.1:{free_port()}/{SECRET}",
                   "--count", 5, "--in-flight", 5, secrets=(SECRET, "127.0.0.1"))
    assert set(driven.words) == {"refused"} and set(driven.effects) == {"not_sent"}


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_connect_timeout(scheme):
    """A listener with its queue full lets nobody in, and says nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        port = listener.getsockname()[1]
        waiting = []
        for _ in range(4):
            waiting.append(socket.socket())
            waiting[-1].setblocking(False)
            waiting[-1].connect_ex(("127.0.0.1", port))
        time.sleep(0.1)
        driven = drive("--allow-private", "--url", f"{scheme}://127.0.0.1:{port}/{SECRET}",
                       "--connect-timeout", 400, "--count", 3, "--in-flight", 3, secrets=(SECRET,))
        for one in waiting:
            one.close()
    assert set(driven.words) == {"connect_timeout"} and set(driven.effects) == {"not_sent"}
    assert all(400 <= outcome.done_ms < 2000 for outcome in driven.outcomes)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1", "0.0.0.0", "[::1]"])
@pytest.mark.parametrize("name", ["early", "plain", "h1"])
def test_forbidden(world, servers, host, name):
    """W5: by the address that is really connected to."""
    prefix = f"/{SECRET}{next(_runs)}"
    driven = drive("--ca", world.certificates.authority, "--url",
                   servers["nginx"].url(name, host) + prefix, "--count", 3, "--in-flight", 2,
                   secrets=(SECRET,))
    assert set(driven.words) == {"forbidden"} and set(driven.effects) == {"not_sent"}
    assert servers["nginx"].counts(prefix) == {}


def test_a_proxy_is_for_http_1_and_for_those_that_may(world, path):
    url = f"http://push.invalid{path}"
    world.scripted.script(url, answer(201))
    proxy = ("--proxy", f"http://127.0.0.1:{world.scripted.port}", "--url", url)
    assert drive("--allow-private", *proxy).words == [201]
    assert len(world.scripted.requests(url)) == 1
    driven = drive(*proxy)  # W5: a proxy would look the name up out of our sight
    assert set(driven.effects) == {"not_sent"} and len(world.scripted.requests(url)) == 1
