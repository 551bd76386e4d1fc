"""`lull fetch` against real servers that fail in every way of the issue.

Each test looks from both ends: what lull says it did, and what the servers saw, and when. nginx and
HAProxy tell it by their access logs.
"""

import concurrent.futures
import email.utils
import time

import pytest

import h2_peer
from fetching import fetch
from scripted import (answer, close, close_in_body, garbage, hang, reset, reset_in_body, slow)
from servers import free_port

FRONTS = ("nginx", "haproxy")
LOG_STEP_S = 0.005  # logs have milliseconds, and nginx keeps a time for a whole turn of its loop
QUICK = "client base=50ms floor=10ms"


def direct(world, path):
    return f"http://127.0.0.1:{world.scripted.port}{path}"


def url_of(world, front, path):
    return direct(world, path) if front == "direct" else getattr(world, front).url(path)


def with_ca(world):
    return ("--cacert", world.certificates.authority)


def h2_url(world, path):
    return f"https://127.0.0.1:{world.h2.port}{path}"


def numbers(fetched):
    return [attempt["number"] for attempt in fetched.attempts]


def statuses(fetched):
    return [attempt["status"] for attempt in fetched.attempts]


def check_delivered(fetched, attempts, status=200):
    answer_ = fetched.answer
    assert (fetched.exit, answer_["exit"]) == (0, 0), fetched
    assert (answer_["verdict"], answer_["reason"], answer_["status"]) == \
        ("delivered", "delivered", status)
    assert numbers(fetched) == list(range(1, attempts + 1))
    assert answer_["body_complete"] is True


def check_ended(fetched, exit_, reason, attempts):
    assert (fetched.exit, fetched.answer["exit"]) == (exit_, exit_), fetched
    assert fetched.answer["verdict"] == "give_up"
    assert fetched.answer["reason"] == reason
    assert numbers(fetched) == list(range(1, attempts + 1))


# ---- 429: every form of Retry-After, through both fronts, by their logs (A1-A7) ----


def imf(seconds):
    return email.utils.formatdate(seconds, usegmt=True)


def rfc850(seconds):
    return time.strftime("%A, %d-%b-%y %H:%M:%S GMT", time.gmtime(seconds))


def asctime(seconds):
    return time.strftime("%a %b %e %H:%M:%S %Y", time.gmtime(seconds))


def one(name, value):
    """Headers as a function of the server's time."""
    return lambda now: [(name, value(now) if callable(value) else value)]


# name: headers, wait that is asked for in s (None: none that counts), date in s from the answer
FORMS = {
    "delta": (one("Retry-After", "1"), 1, None),
    "delta with space": (one("Retry-After", "  1\t"), 1, None),
    "IMF-fixdate": (one("Retry-After", lambda now: imf(int(now) + 2)), 0, 2),
    "RFC 850": (one("Retry-After", lambda now: rfc850(int(now) + 2)), 0, 2),
    "asctime": (one("Retry-After", lambda now: asctime(int(now) + 2)), 0, 2),
    "epoch": (one("Retry-After", lambda now: str(int(now) + 2)), 0, 2),
    "past date": (one("Retry-After", lambda now: imf(int(now) - 100)), 0, None),
    "Retry-After-Ms": (one("Retry-After-Ms", "1200"), 1.2, None),
    "RateLimit-Reset": (one("RateLimit-Reset", "1"), 1, None),
    "X-RateLimit-Reset epoch": (one("X-RateLimit-Reset", lambda now: str(int(now) + 2)), 0, 2),
    "both": (lambda now: [("Retry-After", "1"), ("RateLimit-Reset", "0")], 1, None),
    "absent": (lambda now: [], None, None),
    "a word": (one("Retry-After", "soon"), None, None),
    "a fraction": (one("Retry-After", "1.5"), None, None),
    "a sign": (one("Retry-After", "+1"), None, None),
    "a unit": (one("Retry-After", "1s"), None, None),
    "an impossible date": (one("Retry-After", "Wed, 31 Feb 2026 00:00:00 GMT"), None, None),
    "two values": (one("Retry-After", "1, 2"), None, None),
    "two lines": (lambda now: [("Retry-After", "1"), ("Retry-After", "2")], None, None),
}
THROTTLE_MIN_S = 0.3


def fetch_form(world, front, status, name):
    """One fetch that is refused once. The wait that matters is read from the front's log."""
    headers = FORMS[name][0]
    said_at = []

    def headers_now(now):
        said_at.append(int(now))
        return headers(now)

    path = f"/form/{status}/{front}/{name.replace(' ', '-')}"
    world.scripted.script(path, answer(status, headers_now), answer(200))
    fetched = fetch("--policy", "client throttle-min=300ms", url_of(world, front, path))
    return fetched, getattr(world, front).entries(path, 2), said_at[0]


CASES = [(front, 429, name) for front in FRONTS for name in FORMS] + \
        [(front, 503, "delta") for front in FRONTS] + [("nginx", 503, "IMF-fixdate")]


@pytest.fixture(scope="module")
def forms(world):
    """They mostly wait, so they wait together."""
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        jobs = {case: pool.submit(fetch_form, world, *case) for case in CASES}
        return {case: job.result() for case, job in jobs.items()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case)))
def test_never_earlier_than_asked(forms, case):
    fetched, entries, said_at = forms[case]
    _, status, name = case
    _, asked_s, date_s = FORMS[name]
    check_delivered(fetched, attempts=2)
    assert [entry.status for entry in entries] == [status, 200]
    assert [entry.attempt for entry in entries] == ["", "2"]
    first, second = entries
    waited_s = second.start - first.end
    said = fetched.attempts[0]
    if date_s is not None:
        assert second.start >= said_at + date_s - LOG_STEP_S
    if asked_s is None:
        assert waited_s >= THROTTLE_MIN_S - LOG_STEP_S
        assert said["retry_after_ms"] is None
        warning = "missing" if name == "absent" else "malformed"
        assert f"warn_retry_after_{warning}" in said["warnings"]
    else:
        assert waited_s >= asked_s - LOG_STEP_S
        assert said["retry_after_ms"] is not None and said["warnings"] == []
    assert said["class"] == ("throttled" if status == 429 else "unavailable")
    assert waited_s * 1000 >= said["delay_ms"] - 5
    assert waited_s < 4.5


def test_haproxy_says_429_itself(world, path):
    path = f"/own/limit{path}"
    check_delivered(fetch(world.haproxy.url(path)), attempts=2)
    first, second = world.haproxy.entries(path, 2)
    assert (first.status, second.status) == (429, 200)
    assert second.start - first.end >= 1 - LOG_STEP_S


def test_a_429_without_hint_waits_15_s_or_not_at_all(world, path):
    world.scripted.script(path, answer(429), answer(200))
    fetched = fetch("--deadline", 2, direct(world, path))
    check_ended(fetched, 4, "deadline_exceeded", attempts=1)
    assert len(world.scripted.requests(path)) == 1


def test_too_long_a_wait_is_not_waited_for(world, path):
    world.scripted.script(path, answer(503, [("Retry-After", "121")]), answer(200))
    fetched = fetch(direct(world, path))
    check_ended(fetched, 4, "retry_after_too_long", attempts=1)
    assert fetched.attempts[0]["retry_after_ms"] == 121000
    assert len(world.scripted.requests(path)) == 1


# ---- bursts of errors ----


@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("status", [500, 502, 503, 504, 408])
def test_a_burst_passes(world, path, front, status):
    world.scripted.script(path, answer(status), answer(status), answer(200))
    fetched = fetch(url_of(world, front, path))
    check_delivered(fetched, attempts=3)
    assert statuses(fetched) == [status, status, 200]
    entries = getattr(world, front).entries(path, 3)
    assert [entry.status for entry in entries] == [status, status, 200]
    assert [entry.attempt for entry in entries] == ["", "2", "3"]
    for before, after, attempt in zip(entries, entries[1:], fetched.attempts):
        assert after.start - before.end >= 0.05 - LOG_STEP_S  # the floor of `client`
        assert attempt["delay_ms"] <= 400


def test_haproxy_bursts_by_itself_over_h2(world, path):
    path = f"/own/burst{path}"
    fetched = fetch(*with_ca(world), world.haproxy.url(path, tls=True))
    check_delivered(fetched, attempts=3)
    entries = world.haproxy.entries(path, 3)
    assert [(e.status, e.protocol) for e in entries] == \
        [(503, "HTTP/2.0"), (503, "HTTP/2.0"), (200, "HTTP/2.0")]


@pytest.mark.parametrize("front", FRONTS)
def test_a_burst_that_does_not_end(world, path, front):
    world.scripted.script(path, answer(503))
    fetched = fetch("--policy", QUICK, url_of(world, front, path))
    check_ended(fetched, 4, "max_attempts_exceeded", attempts=4)
    assert fetched.answer["status"] == 503
    assert len(getattr(world, front).entries(path, 4)) == 4


def test_no_retries_at_all(world, path):
    world.scripted.script(path, answer(503), answer(200))
    check_ended(fetch("--retries", 0, world.nginx.url(path)), 4, "max_attempts_exceeded", 1)
    assert len(world.nginx.entries(path, 1)) == 1


def test_tarpit(world, path):
    path = f"/own/tarpit{path}"
    fetched = fetch(world.haproxy.url(path))
    check_delivered(fetched, attempts=2)
    assert fetched.attempts[0]["duration_ms"] >= 900


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 413, 422, 501])
def test_not_worth_a_retry(world, path, status):
    world.scripted.script(path, answer(status))
    fetched = fetch("-f", world.nginx.url(path))
    assert (fetched.exit, fetched.answer["status"], numbers(fetched)) == (3, status, [1])
    fetched = fetch(world.nginx.url(path))
    assert (fetched.exit, fetched.answer["status"], numbers(fetched)) == (0, status, [1])
    assert len(world.nginx.entries(path, 2)) == 2


def test_haproxy_denies(world, path):
    path = f"/own/deny{path}"
    fetched = fetch("-f", world.haproxy.url(path))
    assert (fetched.exit, fetched.answer["reason"], numbers(fetched)) == (3, "auth", [1])
    assert len(world.haproxy.entries(path, 1)) == 1


# ---- resets, closes, garbage ----


@pytest.mark.parametrize("fault", [reset, close, garbage], ids=lambda fault: fault.__name__)
def test_nothing_sane_before_the_headers(world, path, fault):
    world.scripted.script(path, fault(), fault(), answer(200))
    fetched = fetch(direct(world, path))
    check_delivered(fetched, attempts=3)
    assert statuses(fetched) == [0, 0, 200]
    assert fetched.attempts[0]["transport"] in ("reset", "protocol")
    assert fetched.attempts[0]["effect"] == "unknown"
    assert len(world.scripted.requests(path)) == 3


def test_nginx_closes_without_an_answer(world, path):
    world.scripted.script(path, answer(418), answer(200))
    fetched = fetch(world.nginx.url(path))
    check_delivered(fetched, attempts=2)
    assert fetched.attempts[0]["transport"] == "reset"
    first, second = world.nginx.entries(path, 2)
    assert (first.status, second.status) == (444, 200)
    assert second.start - first.end >= 0.05 - LOG_STEP_S


def test_haproxy_closes_without_an_answer(world, path):
    path = f"/own/reject{path}"
    fetched = fetch(world.haproxy.url(path))
    check_delivered(fetched, attempts=2)
    assert fetched.attempts[0]["transport"] == "reset"
    assert len(world.haproxy.entries(path, 2)) == 2


@pytest.mark.parametrize("front", ["direct", "nginx", "haproxy"])
@pytest.mark.parametrize("fault", [reset_in_body, close_in_body], ids=lambda fault: fault.__name__)
def test_a_body_that_breaks_off_is_fetched_again(world, path, tmp_path, front, fault):
    whole = b"y" * 5000
    world.scripted.script(path, fault(), answer(200, body=whole))
    output = tmp_path / "body"
    fetched = fetch("-o", output, url_of(world, front, path))
    check_delivered(fetched, attempts=2)
    assert output.read_bytes() == whole
    assert fetched.answer["body_bytes"] == len(whole)
    assert len(world.scripted.requests(path)) == 2


@pytest.mark.parametrize("front", ["direct", "nginx", "haproxy"])
def test_a_body_that_always_breaks_off(world, path, front):
    world.scripted.script(path, reset_in_body())
    fetched = fetch("--policy", QUICK, url_of(world, front, path))
    assert fetched.exit == 4
    assert fetched.answer["body_complete"] is False
    assert fetched.answer["status"] == 200
    assert len(world.scripted.requests(path)) == len(fetched.attempts) <= 4


# ---- hangs and slow bodies ----


@pytest.mark.parametrize("front", ["direct", "nginx", "haproxy"])
def test_a_hang_is_cut_and_retried(world, path, front):
    world.scripted.script(path, hang(), answer(200))
    fetched = fetch("-m", 0.5, url_of(world, front, path))
    check_delivered(fetched, attempts=2)
    first = fetched.attempts[0]
    assert (first["status"], first["transport"], first["effect"]) == (0, "timeout", "unknown")
    assert 450 <= first["duration_ms"] < 1500
    if front != "direct":
        first, second = getattr(world, front).entries(path, 2)
        assert second.start - first.start >= 0.5
    assert len(world.scripted.requests(path)) == 2


def test_haproxy_drops_in_silence(world, path):
    path = f"/own/drop{path}"
    fetched = fetch("-m", 0.5, world.haproxy.url(path))
    check_delivered(fetched, attempts=2)
    assert fetched.attempts[0]["transport"] == "timeout"


@pytest.mark.parametrize("front", ["direct", "nginx", "haproxy"])
def test_a_slow_body_is_waited_for(world, path, tmp_path, front):
    world.scripted.script(path, slow(pieces=5, pause_s=0.2))
    output = tmp_path / "body"
    fetched = fetch("-o", output, url_of(world, front, path))
    check_delivered(fetched, attempts=1)
    assert output.read_bytes() == b"0123456789" * 5
    assert fetched.answer["duration_ms"] >= 950


def test_a_body_too_slow_for_the_attempt(world, path):
    world.scripted.script(path, slow(pieces=20, pause_s=0.2), answer(200))
    fetched = fetch("-m", 0.5, world.nginx.url(path))
    check_delivered(fetched, attempts=2)
    assert fetched.answer["duration_ms"] < 3000


# ---- no connection, no such target ----


def test_connection_refused(world):
    started = time.monotonic()
    fetched = fetch(f"http://127.0.0.1:{free_port()}/")
    check_ended(fetched, 4, "max_attempts_exceeded", attempts=4)
    assert {a["transport"] for a in fetched.attempts} == {"refused"}
    assert {a["effect"] for a in fetched.attempts} == {"not_sent"}
    assert time.monotonic() - started < 5


def test_connection_refused_for_a_post_is_retried():
    fetched = fetch("-d", "x", f"http://127.0.0.1:{free_port()}/")
    check_ended(fetched, 4, "max_attempts_exceeded", attempts=4)


@pytest.mark.parametrize("kind", ["expired", "wrong_host", "self_signed"])
def test_a_bad_certificate_ends_it(world, path, kind):
    server = world.bad_tls[kind]
    server.script(path, answer(200))
    before = server.connections
    fetched = fetch(*with_ca(world), f"https://127.0.0.1:{server.port}{path}")
    assert fetched.exit == 6, fetched
    assert numbers(fetched) == [1]
    assert (fetched.answer["verdict"], fetched.attempts[0]["transport"]) == ("give_up", "tls")
    assert fetched.attempts[0]["effect"] == "not_sent"
    assert server.connections - before == 1
    assert server.requests(path) == []


@pytest.mark.parametrize("kind", ["expired", "wrong_host", "self_signed"])
def test_a_bad_certificate_of_nginx(world, path, kind):
    port = world.nginx.bad_ports[kind]
    fetched = fetch(*with_ca(world), "-d", "x", f"https://127.0.0.1:{port}{path}")
    assert (fetched.exit, numbers(fetched)) == (6, [1])
    if kind != "wrong_host":  # which is seen only after the handshake
        end = time.monotonic() + 2
        while time.monotonic() < end and not world.nginx.errors(f"server: 127.0.0.1:{port}"):
            time.sleep(0.05)
        failed = world.nginx.errors(f"server: 127.0.0.1:{port}")
        assert len([line for line in failed if "SSL_do_handshake() failed" in line]) == 1
    assert world.nginx.entries(path) == []


@pytest.mark.parametrize("kind", ["expired", "wrong_host", "self_signed"])
def test_insecure_takes_it(world, path, kind):
    check_delivered(fetch("-k", f"https://127.0.0.1:{world.nginx.bad_ports[kind]}{path}"), 1)
    assert len(world.nginx.entries(path, 1)) == 1


@pytest.mark.parametrize("url, reason", [("http://push.invalid/x", "gone"),  # S6
                                         ("http://[::1", "invalid_target"),
                                         ("nonsense://127.0.0.1/", "invalid_target")])
def test_no_such_target(url, reason):
    fetched = fetch(url)
    assert fetched.exit == 6, fetched
    assert fetched.answer["reason"] == reason
    assert len(fetched.attempts) <= 1
    assert fetched.answer["duration_ms"] < 1000


# ---- redirects ----


@pytest.mark.parametrize("front", FRONTS)
def test_a_redirect_is_an_answer_without_location(world, path, front):
    world.scripted.script(path, answer(302, [("Location", f"{path}/there")]))
    fetched = fetch(url_of(world, front, path))
    assert (fetched.exit, fetched.answer["status"], numbers(fetched)) == (0, 302, [1])
    assert world.scripted.requests(f"{path}/there") == []


@pytest.mark.parametrize("front", FRONTS)
def test_a_redirect_is_followed_with_location(world, path, front):
    world.scripted.script(path, answer(302, [("Location", f"{path}/there")]))
    world.scripted.script(f"{path}/there", answer(503), answer(200))
    fetched = fetch("-L", url_of(world, front, path))
    check_delivered(fetched, attempts=2)
    assert [e.status for e in getattr(world, front).entries(f"{path}/there", 2)] == [503, 200]


# ---- POST ----


@pytest.mark.parametrize("fault", [reset, close, hang], ids=lambda fault: fault.__name__)
def test_a_post_that_may_have_been_processed_is_not_repeated(world, path, fault):
    world.scripted.script(path, fault(), answer(200))
    fetched = fetch("-d", "order=1", "-m", 0.5, direct(world, path))
    check_ended(fetched, 5, "not_idempotent", attempts=1)
    assert fetched.attempts[0]["effect"] == "unknown"
    seen = world.scripted.requests(path)
    assert [(r.method, r.body) for r in seen] == [("POST", b"order=1")]


@pytest.mark.parametrize("front", FRONTS)
def test_a_post_that_a_front_dropped_is_not_repeated(world, path, front):
    if front == "haproxy":
        path = f"/own/reject{path}"
    world.scripted.script(path, answer(418), answer(200))
    check_ended(fetch("-d", "order=1", url_of(world, front, path)), 5, "not_idempotent", 1)
    time.sleep(0.2)
    assert len(getattr(world, front).entries(path, 1)) == 1


def test_a_post_on_a_reused_connection_that_has_died(world, path):
    """libcurl alone would send it again in silence."""
    other = f"{path}/first"
    world.scripted.script(other, answer(200))
    world.scripted.script(path, reset(), answer(200))
    fetched = fetch("-d", "order=1", direct(world, other), direct(world, path))
    assert [a["exit"] for a in fetched.answers] == [0, 5]
    seen = world.scripted.requests(path)
    assert len(seen) == 1
    assert seen[0].connection == world.scripted.requests(other)[0].connection


@pytest.mark.parametrize("front", ["direct", "nginx", "haproxy"])
@pytest.mark.parametrize("key", ["--idempotency-key", "--idempotency-key=order-17"])
def test_a_post_with_a_key_is_repeated_with_the_same_key(world, path, front, key):
    faults = [reset(), close(), answer(500)] if front == "direct" else \
        [answer(500), answer(502), answer(503)]
    world.scripted.script(path, *faults, answer(201))
    fetched = fetch(key, "-d", "order=1", url_of(world, front, path))
    check_delivered(fetched, attempts=4, status=201)
    seen = world.scripted.requests(path)
    keys = {request.headers["idempotency-key"] for request in seen}
    assert len(seen) == 4 and len(keys) == 1
    assert {request.body for request in seen} == {b"order=1"}
    if "=" in key:
        assert keys == {"order-17"}
    else:
        assert len(keys.pop()) == 36
    if front != "direct":
        assert len({e.key for e in getattr(world, front).entries(path, 4)}) == 1


def test_two_posts_have_two_random_keys(world, path):
    world.scripted.script(path, answer(200))
    fetch("--idempotency-key", "-d", "x", direct(world, path), direct(world, path))
    keys = [request.headers["idempotency-key"] for request in world.scripted.requests(path)]
    assert len(keys) == len(set(keys)) == 2


def test_a_repeatable_post_is_repeated(world, path):
    world.scripted.script(path, reset(), answer(200))
    check_delivered(fetch("--repeatable", "-d", "x", direct(world, path)), attempts=2)
    assert all("idempotency-key" not in r.headers for r in world.scripted.requests(path))


@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("status", [429, 503])
def test_a_post_is_repeated_if_the_refusal_says_when(world, path, front, status):
    world.scripted.script(path, answer(status, [("Retry-After", "1")]), answer(201))
    check_delivered(fetch("-d", "x", url_of(world, front, path)), attempts=2, status=201)
    first, second = getattr(world, front).entries(path, 2)
    assert (first.method, second.method) == ("POST", "POST")
    assert second.start - first.end >= 1 - LOG_STEP_S


@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_post_is_not_repeated_if_it_does_not(world, path, front, status):
    world.scripted.script(path, answer(status), answer(201))
    check_ended(fetch("-d", "x", url_of(world, front, path)), 5, "not_idempotent", attempts=1)
    assert len(getattr(world, front).entries(path, 1)) == 1


@pytest.mark.parametrize("fault", [reset_in_body, close_in_body], ids=lambda fault: fault.__name__)
def test_a_status_stands_though_its_body_broke_off(world, path, fault):
    world.scripted.script(path, fault(201), answer(201))
    fetched = fetch("-d", "order=1", direct(world, path))
    assert (fetched.exit, numbers(fetched)) == (7, [1])
    assert (fetched.answer["verdict"], fetched.answer["status"]) == ("delivered", 201)
    assert fetched.answer["body_complete"] is False
    assert len(world.scripted.requests(path)) == 1


def test_a_file_is_sent_again_from_its_start(world, path, tmp_path):
    body = bytes(range(256)) * 1000
    source = tmp_path / "upload"
    source.write_bytes(body)
    world.scripted.script(path, answer(503), reset(), answer(200))
    check_delivered(fetch("-T", source, direct(world, path)), attempts=3)
    assert [(r.method, r.body == body) for r in world.scripted.requests(path)] == [("PUT", True)] * 3


def test_standard_input_is_kept_and_sent_again(world, path):
    world.scripted.script(path, answer(503), answer(200))
    check_delivered(fetch("-T", "-", direct(world, path), stdin="z" * 100000), attempts=2)
    assert [request.body for request in world.scripted.requests(path)] == [b"z" * 100000] * 2


# ---- HTTP/2 ----

POST = ("-d", "order=1")


@pytest.mark.parametrize("arguments", [(), POST], ids=["GET", "POST"])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_refused_streams_are_repeated(world, path, arguments, times):
    world.h2.script(path, *[h2_peer.refuse()] * times, h2_peer.answer(200))
    fetched = fetch(*with_ca(world), *arguments, h2_url(world, path))
    check_delivered(fetched, attempts=times + 1)
    if arguments:  # libcurl is asked for it only where the answer matters
        assert {(a["transport"], a["effect"]) for a in fetched.attempts[:-1]} == \
            {("refused_stream", "refused")}
    seen = world.h2.requests(path)
    assert len(seen) == times + 1
    assert [request.is_accepted for request in seen] == [False] * times + [True]


def test_streams_refused_for_ever(world, path):
    world.h2.script(path, h2_peer.refuse())
    fetched = fetch(*with_ca(world), *POST, "--policy", QUICK, h2_url(world, path))
    check_ended(fetched, 4, "max_attempts_exceeded", attempts=4)
    assert len(world.h2.requests(path)) == 4


@pytest.mark.parametrize("arguments", [(), POST], ids=["GET", "POST"])
def test_goaway_that_processed_nothing(world, path, arguments):
    world.h2.script(path, h2_peer.goaway_unprocessed(), h2_peer.answer(200))
    fetched = fetch(*with_ca(world), *arguments, h2_url(world, path))
    check_delivered(fetched, attempts=2)
    first = fetched.attempts[0]
    if arguments:
        assert (first["transport"], first["effect"]) == ("goaway", "refused")
    seen = world.h2.requests(path)
    assert [request.is_accepted for request in seen] == [False, True]
    assert seen[0].connection != seen[1].connection


@pytest.mark.parametrize("arguments", [(), POST], ids=["GET", "POST"])
def test_goaway_after_every_answer(world, path, arguments):
    world.h2.script(path, h2_peer.answer_and_goaway())
    fetched = fetch(*with_ca(world), *arguments, *[h2_url(world, path)] * 3)
    assert fetched.exit == 0, fetched
    assert [len(a["attempts"]) for a in fetched.answers] == [1, 1, 1]
    seen = world.h2.requests(path)
    assert len(seen) == 3
    assert len({request.connection for request in seen}) == 3


@pytest.mark.parametrize("fault", [h2_peer.cancel, h2_peer.internal_error],
                         ids=lambda fault: fault.__name__)
def test_a_stream_torn_down(world, path, fault):
    world.h2.script(path, fault(), h2_peer.answer(200))
    fetched = fetch(*with_ca(world), h2_url(world, path))
    check_delivered(fetched, attempts=2)
    assert fetched.attempts[0]["effect"] == "unknown"
    assert len(world.h2.requests(path)) == 2
    world.h2.script(f"{path}/post", fault(), h2_peer.answer(200))
    fetched = fetch(*with_ca(world), *POST, h2_url(world, f"{path}/post"))
    check_ended(fetched, 5, "not_idempotent", attempts=1)
    assert len(world.h2.requests(f"{path}/post")) == 1


@pytest.mark.parametrize("size", [10, 300_000])
def test_a_201_stands_when_the_stream_is_reset_before_the_body_was_read(world, path, size, tmp_path):
    source = tmp_path / "body"
    source.write_text("x" * size)
    world.h2.script(path, h2_peer.created_then_reset(), h2_peer.answer(201))
    fetched = fetch(*with_ca(world), "--data-binary", f"@{source}", h2_url(world, path))
    check_delivered(fetched, attempts=1, status=201)
    assert len(world.h2.requests(path)) == 1


def test_a_201_stands_when_its_body_never_comes(world, path):
    world.h2.script(path, h2_peer.created_then_broken(), h2_peer.answer(201))
    fetched = fetch(*with_ca(world), *POST, h2_url(world, path))
    assert (fetched.exit, numbers(fetched)) == (7, [1])
    assert (fetched.answer["verdict"], fetched.answer["status"]) == ("delivered", 201)
    assert fetched.answer["body_complete"] is False
    assert len(world.h2.requests(path)) == 1


def test_half_a_response_is_fetched_again(world, path, tmp_path):
    world.h2.script(path, h2_peer.half(), h2_peer.answer(200, body=b"y" * 5000))
    output = tmp_path / "body"
    check_delivered(fetch(*with_ca(world), "-o", output, h2_url(world, path)), attempts=2)
    assert output.read_bytes() == b"y" * 5000
    assert len(world.h2.requests(path)) == 2


@pytest.mark.parametrize("front", FRONTS)
def test_http2_and_http1_by_choice(world, path, front):
    world.scripted.script(path, answer(200))
    url = getattr(world, front).url(path, tls=True)
    check_delivered(fetch(*with_ca(world), url), 1)
    check_delivered(fetch(*with_ca(world), "--http1.1", url), 1)
    assert [e.protocol for e in getattr(world, front).entries(path, 2)] == ["HTTP/2.0", "HTTP/1.1"]


# ---- limits ----


def test_the_deadline_ends_it(world, path):
    world.scripted.script(path, answer(503))
    fetched = fetch("--deadline", 1, "--retries", 50, "--budget", "none", world.nginx.url(path))
    assert (fetched.exit, fetched.answer["verdict"]) == (4, "give_up")
    assert fetched.answer["reason"] == "deadline_exceeded"
    assert fetched.answer["duration_ms"] <= 1200
    entries = world.nginx.entries(path, len(fetched.attempts))
    assert len(entries) == len(fetched.attempts) >= 2
    assert entries[-1].start - entries[0].start <= 1


def test_the_deadline_cuts_a_hang(world, path):
    world.scripted.script(path, hang())
    fetched = fetch("--deadline", 0.5, direct(world, path))
    assert fetched.exit == 4
    assert 400 <= fetched.answer["duration_ms"] < 1500


def test_no_wait_that_passes_the_deadline_is_begun(world, path):
    world.scripted.script(path, answer(503, [("Retry-After", "5")]), answer(200))
    started = time.monotonic()
    check_ended(fetch("--deadline", 2, direct(world, path)), 4, "deadline_exceeded", attempts=1)
    assert time.monotonic() - started < 1


@pytest.mark.parametrize("budget", [(), ("--budget", "10%"), ("--budget", "tokens")])
def test_many_at_once_keep_to_the_budget(world, path, budget):
    count = 60
    world.scripted.script(path, answer(500))
    started = time.monotonic()
    fetched = fetch(*budget, "--parallel", 20, *[world.nginx.url(path)] * count)
    elapsed_s = time.monotonic() - started
    assert len(fetched.answers) == count
    assert {a["exit"] for a in fetched.answers} == {4}
    assert sorted(a["index"] for a in fetched.answers) == list(range(1, count + 1))
    requests = len(world.nginx.entries(path, sum(len(a["attempts"]) for a in fetched.answers)))
    assert requests == sum(len(a["attempts"]) for a in fetched.answers)
    retries = sum(max(len(a["attempts"]) - 1, 0) for a in fetched.answers)
    ratio = {(): 0.2, ("--budget", "10%"): 0.1}.get(budget)
    reserve = 10 + 10 * elapsed_s
    allowed = reserve + (100 if ratio is None else ratio * count)
    assert retries <= allowed + 1
    if ratio is not None:
        reasons = {a["reason"] for a in fetched.answers}
        assert "budget_exhausted" in reasons or "circuit_open" in reasons


def test_an_inner_layer_leaves_it_to_the_outer(world, path):
    world.scripted.script(path, answer(503), answer(200))
    check_ended(fetch("--incoming-attempt", 2, world.nginx.url(path)), 4, "outer_retries", 1)
    assert len(world.nginx.entries(path, 1)) == 1


# ---- problem+json, traces, the program's manners ----

PROBLEM = b'{"type": "https://example.com/busy", "title": "Busy"}'
PROBLEM_TYPE = [("Content-Type", "application/problem+json")]


@pytest.mark.parametrize("status, action, verdict, attempts", [
    (400, "retry", "delivered", 2),
    (503, "give_up", "give_up", 1),
    (503, "dead_letter", "dead", 1),
])
@pytest.mark.parametrize("front", FRONTS)
def test_a_problem_is_mapped(world, path, front, status, action, verdict, attempts):
    world.scripted.script(path, answer(status, PROBLEM_TYPE, PROBLEM), answer(200))
    fetched = fetch("--policy", f"client problem.https://example.com/busy={action}",
                    url_of(world, front, path))
    assert (fetched.answer["verdict"], len(fetched.attempts)) == (verdict, attempts), fetched
    assert len(getattr(world, front).entries(path, attempts)) == attempts


def test_a_broken_problem_changes_nothing(world, path):
    world.scripted.script(path, answer(503, PROBLEM_TYPE, PROBLEM[:-5]), answer(200))
    fetched = fetch("--policy", "client problem.https://example.com/busy=give_up",
                    world.nginx.url(path))
    check_delivered(fetched, attempts=2)


@pytest.mark.parametrize("front", FRONTS)
def test_one_trace_and_a_span_for_each_attempt(world, path, front):
    world.scripted.script(path, answer(503), answer(503), answer(200))
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    check_delivered(fetch(f"--traceparent={parent}", url_of(world, front, path)), attempts=3)
    parts = [entry.trace.split("-") for entry in getattr(world, front).entries(path, 3)]
    assert {part[1] for part in parts} == {"0af7651916cd43dd8448eb211c80319c"}
    assert len({part[2] for part in parts} | {"b7ad6b7169203331"}) == 4


def test_explain_tells_the_questions_on_stderr(world, path):
    world.scripted.script(path, answer(503), answer(200))
    fetched = fetch("--explain", world.nginx.url(path))
    check_delivered(fetched, attempts=2)
    assert "What happened?" in fetched.stderr and "503" in fetched.stderr


def test_an_output_that_cannot_be_written(world, path):
    world.scripted.script(path, answer(200))
    fetched = fetch("-o", "/nowhere/at/all", direct(world, path))
    assert fetched.exit == 1
    assert len(world.scripted.requests(path)) <= 1


@pytest.mark.parametrize("arguments", [(), ("--retries", "x", "http://127.0.0.1/"),
                                       ("--no-such-flag", "http://127.0.0.1/"),
                                       ("--policy", "nonsense", "http://127.0.0.1/")])
def test_wrong_arguments(arguments):
    fetched = fetch(*arguments)
    assert (fetched.exit, fetched.answers) == (2, [])
    assert fetched.stderr
