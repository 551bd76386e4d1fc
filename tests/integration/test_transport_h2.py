"""The transport against an HTTP/2 peer that does what nginx and HAProxy never would (C1, C12).

Each case says from both ends what it came to: the outcome, and how often the peer saw the request.
Where a stream is at fault, its neighbours on the same connection are answered all the same.
"""

import time

import pytest

import h2_faults as faults
import h2_peer as peers
from driving import drive
from h2_peer import Codes, H2Peer, answer, held, settings, slow_body
from scripted import Listener

SECRET = "s3cret"  # in every path, and in a header
BROKEN = ("protocol", "reset")  # either may be said of it: there was no answer
COMMON = ("--allow-private", "--header", f"authorization:{SECRET}", "--timeout", 8000)


@pytest.fixture
def start(world):
    """start(opening, ...) starts a peer; all of them are stopped after the test."""
    started = []

    def start_one(*openings, protocols=("h2",)):
        started.append(H2Peer(world.certificates.context("good", protocols), *openings))
        return started[-1]

    yield start_one
    for peer in started:
        peer.stop()


@pytest.fixture
def peer(start):
    return start()


def ask(world, peer, paths, *options, port=None):
    """Drives requests to these paths, all at once unless the options say otherwise."""
    urls = [part for path in paths
            for part in ("--url", f"https://127.0.0.1:{port or peer.port}{path}")]
    driven = drive(*COMMON, "--ca", world.certificates.authority, "--count", len(paths),
                   "--in-flight", len(paths), *urls, *options, secrets=(SECRET, "127.0.0.1"))
    assert peer is None or peer.errors == 0  # the client broke no rule of HTTP/2
    return driven


def seen(peer, *paths):
    return [len(peer.requests(path)) for path in paths]


def script(peer, **steps):
    """Paths with a secret in them, by name; in the order that was given."""
    return [peer.script(f"/{SECRET}/{name}", *(step if isinstance(step, tuple) else (step,)))
            for name, step in steps.items()]


# ---- one stream is at fault, its neighbours are not ----

# name: step, what it comes to (or one of these), its effect, and what else must hold
COMPLETE = {"is_body_complete": True, "is_body_cut": False, "body": "ok\n"}
HALF = {"is_body_complete": False}
STREAM_FAULTS = {
    # ends without an answer
    "REFUSED_STREAM": (peers.refuse(), "refused_stream", "refused", {}),
    "REFUSED_STREAM before the body": (faults.reset_early(Codes.REFUSED_STREAM, False),
                                       "refused_stream", "refused", {}),
    "HTTP_1_1_REQUIRED": (faults.http_1_1_required(), "refused_stream", "refused", {}),
    "CANCEL": (peers.cancel(), "reset", "unknown", {}),
    "CANCEL before the body": (faults.reset_early(Codes.CANCEL), "reset", "unknown", {}),
    "INTERNAL_ERROR": (peers.internal_error(), "reset", "unknown", {}),
    "NO_ERROR": (peers.reset_stream(Codes.NO_ERROR), "reset", "unknown", {}),
    "PROTOCOL_ERROR": (peers.reset_stream(Codes.PROTOCOL_ERROR), "reset", "unknown", {}),
    "ENHANCE_YOUR_CALM": (faults.enhance_your_calm(), "reset", "unknown", {}),
    "103 and CANCEL": (faults.hints_then_reset(), "reset", "unknown", {}),
    # an answer out of the ordinary
    "201 before the body": (answer(201, is_early=True), 201, "refused", COMPLETE),
    "201 before the body, NO_ERROR": (peers.created_then_reset(), 201, "refused",
                                      {"is_body_complete": True, "body": ""}),
    "201 before the body, no window": (faults.early_unread(), 201, "refused",
                                       {"is_body_complete": True}),
    "201 and INTERNAL_ERROR": (peers.created_then_broken(), 201, "refused", HALF),
    "half a 200": (peers.half(), 200, "refused", HALF),
    "103": (faults.hints(1), 201, "refused", COMPLETE),
    "100": (faults.hints(1, 100), 201, "refused", COMPLETE),
    "103, 500 times": (faults.hints(500), 201, "refused", {**COMPLETE, "header_count": 1}),
    "trailers": (faults.trailers(), 201, "refused", {**COMPLETE, "header_count": 0}),
    "status alone": (faults.status_alone(), 201, "refused",
                     {"is_body_complete": True, "body_length": 0}),
    "padded": (faults.padded(), 201, "refused", COMPLETE),
    "unknown frames": (faults.unknown_frames(), 201, "refused", COMPLETE),
    "204": (answer(204, b""), 204, "refused", {"is_body_complete": True}),
    "redirect": (answer(307, headers=[("location", "/elsewhere")]), 307, "refused", COMPLETE),
    "503": (answer(503), 503, "refused", COMPLETE),
    # too much of it
    "128 KB of headers": (faults.many_headers(64, 2000), 201, "refused", COMPLETE),
    "1000 headers": (faults.many_headers(1000, 10), 201, "refused",
                     {**COMPLETE, "header_count": 256}),
    "40 MB of headers in 14 KB": (faults.hpack_bomb(), (201, *BROKEN), None, {}),
    "a body of 1 MB": (faults.big(1 << 20), 200, "refused",
                       {"is_body_cut": True, "body_length": 16384, "is_body_complete": False}),
    "a body without end": (faults.big(1 << 24, is_end=False), 200, "refused",
                           {"is_body_cut": True, "body_length": 16384, "is_body_complete": False}),
    "500 PINGs": (faults.ping_flood(500), 201, "refused", COMPLETE),
    "500 SETTINGS": (faults.settings_flood(500), 201, "refused", COMPLETE),
    "empty DATA, 2000 times": (faults.empty_data_flood(2000), 201, "refused", COMPLETE),
    # against the rules of the stream
    "name in upper case": (faults.upper_case_name(), (201, *BROKEN), None, {}),
    "name with a space": (faults.bad_name(), (201, *BROKEN), None, {}),
    "value with a line": (faults.bad_value(), (201, *BROKEN), None, {}),
    "unknown pseudo header": (faults.bad_pseudo_header(), BROKEN, "unknown", {}),
    "no status": (faults.no_status(), BROKEN, "unknown", {}),
    "status of letters": (faults.bad_status("abc"), BROKEN, "unknown", {}),
    "status 99": (faults.bad_status("99"), BROKEN, "unknown", {}),
    "two statuses": (faults.two_statuses(), BROKEN, "unknown", {}),
    "101": (faults.switching(), BROKEN, "unknown", {}),
    "103 and the end": (faults.hints_and_end(), BROKEN, "unknown", {}),
    "shorter than said": (faults.wrong_length(10, b"ok\n"), 201, "refused", HALF),
    "longer than said": (faults.wrong_length(2, b"ok\n"), 201, "refused", HALF),
    "bad trailers": (faults.bad_trailers(), 201, "refused", HALF),
    "stream window overflow": (faults.stream_window_overflow(), BROKEN, "unknown", {}),
}


# A large body makes a difference only where the answer comes before it.
SIZES = [(name, size) for name, (step, *_) in STREAM_FAULTS.items()
         for size in ((0, 300, 100_000) if step.is_early else (0, 300))]


@pytest.mark.parametrize("name, size", SIZES)
def test_one_bad_stream_leaves_its_neighbours_alone(world, peer, name, size):
    step, words, effect, fields = STREAM_FAULTS[name]
    before, bad, after = paths = script(peer, before=held(), bad=step, after=held())
    driven = ask(world, peer, paths, "--connections", 1, "--body-size", size)
    first, outcome, last = driven.outcomes
    assert (first.word, last.word) == (201, 201), driven
    assert outcome.word in (words if isinstance(words, tuple) else (words,)), outcome
    assert effect is None or outcome.effect == effect, outcome
    if outcome.status:
        for field, value in fields.items():
            assert getattr(outcome, field) == value, (field, outcome)
    assert {o.protocol for o in driven.outcomes} == {"http/2"}
    assert seen(peer, before, bad, after) == [1, 1, 1]
    assert peer.connections == 1
    assert driven.summary["rss_end_kb"] < 200_000
    if not step.is_early:
        body = "abcdefghijklmnopqrstuvwxyz" * (size // 26 + 1)
        assert peer.requests(bad)[0].body == body[:size].encode()


def test_all_of_them_at_once(world, start):
    """Each comes to what it would have come to alone."""
    peer = start(settings(max_concurrent_streams=1000))  # its engine knows of no end that is raw
    table = {name: case for name, case in STREAM_FAULTS.items()  # these would be felt by all:
             if name not in ("HTTP_1_1_REQUIRED", "a body of 1 MB", "a body without end")}
    paths = [peer.script(f"/{SECRET}/{i}", step) for i, (step, *_) in enumerate(table.values())]
    rounds = 6
    driven = ask(world, peer, paths, "--connections", 1, "--count", rounds * len(paths),
                 "--in-flight", 40, "--body-size", 300)
    for outcome in driven.outcomes:
        name = list(table)[outcome.index % len(table)]
        _, words, effect, fields = table[name]
        assert outcome.word in (words if isinstance(words, tuple) else (words,)), (name, outcome)
        assert effect is None or outcome.effect == effect, (name, outcome)
        for field, value in fields.items():
            assert getattr(outcome, field) == value, (name, field, outcome)
    assert seen(peer, *paths) == [rounds] * len(paths)
    assert peer.connections == 1


def test_a_body_that_nobody_reads_does_not_block_the_others(world, peer):
    stuck, other = script(peer, stuck=faults.hang(is_early=True), other=answer(201))
    driven = ask(world, peer, [stuck, other, other, other], "--connections", 1, "--count", 40,
                 "--in-flight", 20, "--body-size", 100_000, "--first-byte-timeout", 1500)
    assert driven.summary["statuses"] == {"201": 30}
    assert driven.summary["transports"] == {"timeout": 10}
    assert (seen(peer, stuck, other), peer.connections) == ([10, 30], 1)
    assert {len(request.body) for request in peer.requests(other)} == {100_000}


def test_what_the_peer_gets(world, peer):
    (path,) = script(peer, x=answer(201, b""))
    ask(world, peer, [f"{path}"], "--header", "ttl:60", "--header", "x-empty:", "--body-size", 5)
    request, = peer.requests(path)
    assert (request.method, request.body) == ("POST", b"abcde")
    assert request.headers[":authority"] == f"127.0.0.1:{peer.port}"
    assert request.headers[":scheme"] == "https"
    assert (request.headers["ttl"], request.headers["x-empty"]) == ("60", "")
    assert request.headers["authorization"] == SECRET
    assert request.headers["content-length"] == "5"
    assert not {"connection", "host", "transfer-encoding", "expect"} & set(request.headers)


@pytest.mark.parametrize("method, size", [("GET", 0), ("PUT", 10), ("DELETE", 0), ("HEAD", 0)])
def test_other_methods(world, peer, method, size):
    step = faults.status_alone() if method == "HEAD" else answer(200)
    (path,) = script(peer, x=step)
    driven = ask(world, peer, [path], "--method", method, "--body-size", size)
    assert driven.outcomes[0].is_body_complete and driven.words[0] in (200, 201)
    assert [(r.method, len(r.body)) for r in peer.requests(path)] == [(method, size)]


def test_head_may_name_a_length_and_have_no_body(world, peer):
    (path,) = script(peer, x=faults.frames(lambda session, stream_id: [session.head(
        stream_id, [(":status", "200"), ("content-length", "5000")], True)]))
    driven = ask(world, peer, [path], "--method", "HEAD")
    assert (driven.words, driven.outcomes[0].is_body_complete) == ([200], True)


def test_bodies_that_were_cut_or_padded_give_their_window_back(world, peer):
    """60 bodies of 100 KB, and 300 paddings of 255 bytes, on one connection of 64 KB and more."""
    big, small = script(peer, big=faults.big(100_000), small=faults.padded())
    driven = ask(world, peer, [big, small, small, small, small, small], "--count", 360,
                 "--in-flight", 6, "--connections", 1)
    assert driven.summary["statuses"] == {"200": 60, "201": 300}
    assert driven.summary["cut"] == 60
    assert (seen(peer, big, small), peer.connections) == ([60, 300], 1)


def test_a_whole_body_within_the_limit(world, peer):
    (path,) = script(peer, x=faults.big(500_000))
    outcome, = ask(world, peer, [path], "--response-max", 500_000).outcomes
    assert (outcome.word, outcome.body_length) == (200, 500_000)
    assert (outcome.is_body_complete, outcome.is_body_cut) == (True, False)


def test_nothing_of_the_body_is_wanted(world, peer):
    (path,) = script(peer, x=answer(201))
    outcome, = ask(world, peer, [path], "--response-max", 0).outcomes
    assert (outcome.word, outcome.body_length) == (201, 0)


# ---- the connection is at fault ----

CONNECTION_FAULTS = {
    "closed": faults.vanish(),
    "TCP reset": faults.vanish(is_reset=True),
    "garbage": faults.garbage(),
    "GOAWAY above all": faults.goaway(faults.LAST_ID_MAX),
    "GOAWAY above all, INTERNAL_ERROR": faults.goaway(faults.LAST_ID_MAX, Codes.INTERNAL_ERROR),
    "GOAWAY above all, ENHANCE_YOUR_CALM": faults.goaway(faults.LAST_ID_MAX,
                                                         Codes.ENHANCE_YOUR_CALM),
    "connection window overflow": faults.connection_window_overflow(),
    "bad compression": faults.bad_compression(),
    "oversized frame": faults.oversized_frame(),
    "push": faults.push(),
    "broken CONTINUATION": faults.broken_continuation(),
    "reset of an idle stream": faults.idle_stream(),
    "DATA before HEADERS": faults.data_before_headers(),
    "1 MB of headers": faults.many_headers(500, 2000),
}


@pytest.mark.parametrize("name", CONNECTION_FAULTS)
def test_a_bad_connection_repeats_nothing_and_is_replaced(world, peer, name):
    """Three at once, and each of them again. What was on the connection is unknown, or was answered;
    nobody's request is seen twice for one outcome."""
    paths = script(peer, before=(held(), answer(201)), bad=(CONNECTION_FAULTS[name], answer(201)),
                   after=(held(), answer(201)))
    driven = ask(world, peer, paths, "--connections", 1, "--body-size", 300, "--count", 6)
    outcomes = driven.outcomes
    assert outcomes[1].word in BROKEN and outcomes[1].effect == "unknown", outcomes[1]
    assert {o.word for o in outcomes} <= {201, *BROKEN}, driven.words
    assert driven.words[3:] == [201, 201, 201], driven.words
    first, bad, last = seen(peer, *paths)
    assert (first, bad) == (2, 2) and last in (1, 2)  # 1: it was on its way when the fault came


@pytest.mark.parametrize("status", [200, 201, 503])
def test_a_status_stands_when_the_connection_is_cut(world, peer, status):
    before, bad = script(peer, before=held(), bad=faults.cut(status))
    first, outcome = ask(world, peer, [before, bad], "--connections", 1).outcomes
    assert (outcome.word, outcome.is_body_complete, outcome.body) == (status, False, "ok\n")
    assert (first.word, first.effect) == ("reset", "unknown")
    assert seen(peer, before, bad) == [1, 1]


@pytest.mark.parametrize("count", [5_000, 100_000])
def test_a_flood_of_pings_has_an_outcome(world, peer, count):
    """201, or the connection is given up: then it is unknown, and repeated by nobody."""
    (path,) = script(peer, x=faults.ping_flood(count))
    driven = ask(world, peer, [path])
    assert driven.words[0] in (201, *BROKEN)
    assert seen(peer, path) == [1]
    assert driven.summary["rss_end_kb"] < 200_000


# ---- how a connection begins ----


def opened(world, start, opening, *options, then=()):
    peer = start(opening, *then)
    paths = script(peer, a=answer(201), b=answer(201))
    return peer, ask(world, peer, paths, "--connect-timeout", 400, "--connections", 1,
                     "--body-size", 100, *options), paths


@pytest.mark.parametrize("opening, words", [
    (faults.silence, {"connect_timeout"}),
    (settings(max_concurrent_streams=0), {"connect_timeout"}),
    (faults.close_at_once, None),
    (faults.garbage_at_once, None),
], ids=["silence", "no streams", "close", "garbage"])
def test_before_the_settings_nothing_is_sent(world, start, opening, words):
    peer, driven, paths = opened(world, start, opening)
    assert set(driven.effects) == {"not_sent"}, driven
    assert words is None or set(driven.words) == words
    assert seen(peer, *paths) == [0, 0]
    assert {outcome.sent_ms for outcome in driven.outcomes} == {-1}
    assert driven.summary["duration_ms"] < 3000
    assert peer.connections <= 4  # a peer in trouble is not stormed


@pytest.mark.parametrize("last_id", [0, faults.LAST_ID_MAX])
@pytest.mark.parametrize("code", [Codes.NO_ERROR, Codes.ENHANCE_YOUR_CALM])
def test_goaway_at_once_is_refused(world, start, last_id, code):
    peer, driven, paths = opened(world, start, faults.goaway_at_once(last_id, code))
    assert set(driven.effects) <= {"refused", "not_sent"}, driven
    assert seen(peer, *paths) == [0, 0]
    assert peer.connections <= 4  # a peer in trouble is not stormed
    assert set(driven.words) == {"goaway"}
    assert driven.summary["duration_ms"] < 3000


def test_after_a_bad_beginning_there_is_a_good_one(world, start):
    for bad in (faults.goaway_at_once(), faults.close_at_once, faults.garbage_at_once):
        peer, driven, paths = opened(world, start, bad, "--retry-refused", then=(settings(),))
        assert driven.words == [201, 201]
        assert seen(peer, *paths) == [1, 1]


@pytest.mark.parametrize("values", [
    {"initial_window_size": 100}, {"header_table_size": 0}, {"max_frame_size": 100_000},
    {"max_concurrent_streams": 1}, {"max_header_list_size": 50_000}, {"enable_push": 0},
    {"initial_window_size": 1, "header_table_size": 1, "max_concurrent_streams": 2},
], ids=str)
def test_settings_are_kept_to(world, start, values):
    peer, driven, paths = opened(world, start, settings(**values), "--count", 20, "--in-flight", 20,
                                 "--connect-timeout", 8000)
    assert driven.words == [201] * 20
    assert seen(peer, *paths) == [10, 10]
    assert {request.body for request in peer.requests(paths[0])} == {b"abcdefghijklmnopqrstuvwxyz"
                                                                     * 3 + b"abcdefghijklmnopqrstuv"}


def test_pings_at_once(world, start):
    peer, driven, paths = opened(world, start, faults.pings_at_once(500))
    assert (driven.words, seen(peer, *paths)) == ([201, 201], [1, 1])


# ---- SETTINGS under way ----


@pytest.mark.parametrize("counts", [(1,), (2, 50), (0, 10), (1, 0, 1, 0, 3)], ids=str)
def test_streams_shrink_under_way(world, peer, counts):
    """From 100. A client that opened more than it may would lose its connection (peer.errors)."""
    change, other = script(peer, change=(faults.set_streams(*counts), answer(201)),
                           other=answer(201))
    driven = ask(world, peer, [change] + [other] * 9, "--connections", 1, "--count", 100,
                 "--in-flight", 30, "--body-size", 300)
    assert driven.summary["statuses"] == {"201": 100}
    assert seen(peer, change, other) == [10, 90]
    assert peer.connections == 1


def test_the_window_shrinks_under_way(world, peer):
    change, other = script(peer, change=(faults.set_window(10), answer(201)), other=answer(201))
    driven = ask(world, peer, [change, other], "--connections", 1, "--count", 20, "--in-flight", 5,
                 "--body-size", 3000)
    assert driven.words == [201] * 20
    assert {len(r.body) for r in peer.requests(change) + peer.requests(other)} == {3000}
    assert (seen(peer, change, other), peer.connections) == ([10, 10], 1)


# ---- GOAWAY ----


@pytest.mark.parametrize("code", [Codes.NO_ERROR, Codes.ENHANCE_YOUR_CALM, Codes.HTTP_1_1_REQUIRED])
def test_goaway_with_last_id_0_is_reported(world, peer, code):
    """Nothing of the connection was processed: refused, and whether to try again is not ours to say."""
    (path,) = script(peer, x=faults.goaway(0, code))
    driven = ask(world, peer, [path], "--body-size", 300)
    assert (driven.words, driven.effects) == (["goaway"], ["refused"])
    assert seen(peer, path) == [1]


def test_what_a_goaway_left_goes_to_the_next_connection(world, peer):
    """Five streams, GOAWAY below the fourth: three are answered there, two elsewhere."""
    a, b, c, d, e = paths = script(peer, a=held(), b=held(), c=held(), d=(held(), answer(201)),
                                   e=(faults.goaway(5, does_answer=True), answer(201)))
    driven = ask(world, peer, paths, "--connections", 1, "--body-size", 300)
    assert driven.words == [201] * 5, driven
    assert seen(peer, *paths) == [1, 1, 1, 2, 2]
    assert peer.connections == 2
    assert driven.summary["moves"] == 2
    for path in (d, e):
        first, second = peer.requests(path)
        assert first.body == second.body and len(first.body) == 300
        assert (first.connection, second.connection) == (1, 2)


def test_a_goaway_drains(world, peer):
    """What was under way ends on the old connection; what comes after it needs a new one."""
    first, last, after = script(peer, first=held(), last=faults.drain(0.4), after=answer(201))
    driven = ask(world, peer, [first, last, after, after], "--connections", 1, "--in-flight", 2)
    # Index 2 is submitted when one of the first two is back, which is after the drain.
    assert driven.words == [201] * 4
    assert [r.connection for p in (first, last) for r in peer.requests(p)] == [1, 1]
    assert {r.connection for r in peer.requests(after)} == {2}
    assert seen(peer, first, last, after) == [1, 1, 2]


def test_new_streams_do_not_wait_for_the_old_connection(world, peer):
    slow, quick = script(peer, slow=faults.drain(1.5), quick=answer(201))
    driven = ask(world, peer, [slow, quick, quick, quick], "--connections", 1, "--streams", 1,
                 "--count", 4, "--in-flight", 4)
    assert driven.words == [201] * 4
    assert {r.connection for r in peer.requests(quick)} == {2}
    assert all(outcome.done_ms < 1300 for outcome in driven.outcomes[1:]), driven
    assert driven.outcomes[0].done_ms >= 1500


def test_goaway_after_every_answer(world, peer):
    (path,) = script(peer, x=peers.answer_and_goaway(201))
    driven = ask(world, peer, [path], "--count", 30, "--connections", 2, "--in-flight", 5,
                 "--body-size", 300, "--retry-refused")
    assert driven.words == [201] * 30
    answered = [r for r in peer.requests(path) if r.is_accepted]
    assert len(answered) == 30


# ---- HTTP/1.1 is required ----


def test_after_http_1_1_required_the_origin_gets_http_1_1(world, start):
    peer = start(protocols=("h2", "http/1.1"))
    (path,) = script(peer, x=faults.http_1_1_required())
    driven = ask(world, peer, [path], "--count", 3, "--in-flight", 1, "--body-size", 300)
    assert driven.words == ["refused_stream", 201, 201]
    assert [o.protocol for o in driven.outcomes] == ["http/2", "http/1.1", "http/1.1"]
    assert seen(peer, path) == [1]
    assert [len(request.body) for request in peer.h1_requests] == [300, 300]


# ---- time ----


def test_first_byte_timeout(world, peer):
    before, bad, after = script(peer, before=held(), bad=faults.hang(), after=held())
    driven = ask(world, peer, [before, bad, after], "--connections", 1, "--first-byte-timeout", 300)
    first, outcome, last = driven.outcomes
    assert (outcome.word, outcome.effect) == ("timeout", "unknown")
    assert 300 <= outcome.done_ms - outcome.sent_ms < 1500
    assert (first.word, last.word) == (201, 201)
    assert (seen(peer, before, bad, after), peer.connections) == ([1, 1, 1], 1)
    assert [code for _, code in peer.resets] == [Codes.CANCEL]


def test_hints_are_no_first_byte(world, peer):
    (path,) = script(peer, x=faults.frames(lambda session, stream_id: [
        session.head(stream_id, [(":status", "103")])]))
    outcome, = ask(world, peer, [path], "--first-byte-timeout", 300).outcomes
    assert (outcome.word, outcome.effect) == ("timeout", "unknown")


@pytest.mark.parametrize("window", [0, 100])
def test_a_window_that_never_opens(world, start, window):
    peer = start(settings(initial_window_size=window))
    (path,) = script(peer, x=faults.hang(is_early=True))
    outcome, = ask(world, peer, [path], "--first-byte-timeout", 300, "--body-size", 5000).outcomes
    assert (outcome.word, outcome.effect) == ("timeout", "unknown")
    assert seen(peer, path) == [1]


def test_total_timeout_without_a_status(world, peer):
    (path,) = script(peer, x=faults.hang())
    outcome, = ask(world, peer, [path], "--timeout", 300).outcomes
    assert (outcome.word, outcome.effect) == ("timeout", "unknown")
    assert 300 <= outcome.done_ms < 1500


def test_total_timeout_in_the_body(world, peer):
    """The status stands."""
    (path,) = script(peer, x=faults.stalled(201))
    outcome, = ask(world, peer, [path], "--timeout", 300).outcomes
    assert (outcome.word, outcome.is_body_complete, outcome.body) == (201, False, "ok\n")
    assert 300 <= outcome.done_ms < 1500


def test_the_first_byte_is_no_limit_of_the_body(world, peer):
    (path,) = script(peer, a=slow_body(0.5))
    outcome, = ask(world, peer, [path], "--first-byte-timeout", 200).outcomes
    assert (outcome.word, outcome.is_body_complete, outcome.body) == (200, True, "ok\n")


def test_total_timeout_before_the_connection(world, start):
    peer = start(faults.silence)
    (path,) = script(peer, x=answer(201))
    outcome, = ask(world, peer, [path], "--timeout", 300).outcomes
    assert outcome.effect == "not_sent"
    assert 300 <= outcome.done_ms < 1500


def test_an_answer_that_comes_too_late_is_for_nobody(world, peer):
    """Its stream is gone; the connection lives on."""
    slow, other = script(peer, slow=faults.late(0.4), other=faults.late(0.6))
    driven = ask(world, peer, [slow, other], "--connections", 1, "--first-byte-timeout", 250)
    assert driven.words == ["timeout", "timeout"]
    slow, other = script(peer, slow=faults.late(0.3), other=answer(201))
    driven = ask(world, peer, [slow, other], "--connections", 1, "--first-byte-timeout", 200,
                 "--count", 20, "--in-flight", 4)
    assert driven.summary["statuses"] == {"201": 10}
    assert driven.summary["transports"] == {"timeout": 10}
    assert peer.connections == 2


def test_waiting_for_a_stream_is_waiting_for_a_connection(world, start):
    peer = start(settings(max_concurrent_streams=1))
    slow, other = script(peer, slow=faults.late(0.8), other=answer(201))
    driven = ask(world, peer, [slow, other], "--connections", 1, "--connect-timeout", 300)
    assert driven.words == [201, "connect_timeout"]
    assert seen(peer, slow, other) == [1, 0]


def test_cancelled(world, peer):
    before, bad = script(peer, before=faults.late(0.1), bad=faults.hang())
    driven = ask(world, peer, [before, bad], "--connections", 1, "--cancel-after", 300)
    assert driven.words == [201, "cancelled"]
    assert 300 <= driven.outcomes[1].done_ms < 1500
    assert seen(peer, before, bad) == [1, 1]


def test_cancelled_with_a_status(world, peer):
    (path,) = script(peer, x=faults.stalled(201))
    outcome, = ask(world, peer, [path], "--cancel-after", 300).outcomes
    assert (outcome.word, outcome.is_body_complete) == (201, False)


def test_cancelled_before_the_connection(world, start):
    peer = start(faults.silence)
    (path,) = script(peer, x=answer(201))
    assert ask(world, peer, [path], "--cancel-after", 100).words == ["cancelled"]
    assert seen(peer, path) == [0]


def test_a_silent_connection_is_pinged(world, peer):
    """The peer answers PINGs while the stream has to wait."""
    (path,) = script(peer, x=faults.late(0.7))
    driven = ask(world, peer, [path], "--idle-ping", 100, "--ping-timeout", 200)
    assert driven.words == [201]


def test_a_deaf_connection_is_closed(world, peer):
    def deaf(session, stream_id):
        time.sleep(1.5)
        return False

    (path,) = script(peer, x=(peers.Step(deaf), answer(201)))
    driven = ask(world, peer, [path], "--idle-ping", 200, "--ping-timeout", 200, "--count", 2,
                 "--in-flight", 1)
    first, second = driven.outcomes
    assert (first.word, first.effect, second.word) == ("reset", "unknown", 201)
    assert first.done_ms < 1300
    assert [r.connection for r in peer.requests(path)] == [1, 2]


# ---- connections ----


def test_one_connection_does_for_many(world, peer):
    (path,) = script(peer, x=answer(201))
    driven = ask(world, peer, [path], "--count", 500, "--in-flight", 50, "--connections", 1,
                 "--body-size", 300)
    assert driven.summary["statuses"] == {"201": 500}
    assert (seen(peer, path), peer.connections) == ([500], 1)
    assert driven.summary["connections"] == driven.summary["open_connections"] == 1


def test_no_more_connections_than_allowed(world, start):
    peer = start(settings(max_concurrent_streams=1))
    (path,) = script(peer, x=faults.late(0.02))
    driven = ask(world, peer, [path], "--count", 60, "--in-flight", 20, "--connections", 3)
    assert driven.words == [201] * 60
    assert 1 <= peer.connections <= 3


@pytest.mark.parametrize("in_flight", [1, 2, 6])
def test_origins_share_the_connections_that_there_are(world, start, in_flight):
    """One connection in all: each origin has its turn, when those of the others are not in use."""
    scripts = {}
    urls = []
    for peer in (start(), start(), start()):
        scripts[peer] = script(peer, a=answer(201), b=answer(201))
        for path in scripts[peer]:
            urls += ["--url", f"https://127.0.0.1:{peer.port}{path}"]
    driven = drive(*COMMON, "--ca", world.certificates.authority, "--count", 6, "--in-flight",
                   in_flight, "--connections-in-all", 1, *urls, secrets=(SECRET,))
    assert driven.words == [201] * 6
    assert [seen(peer, *paths) for peer, paths in scripts.items()] == [[1, 1]] * 3


def test_an_unused_connection_is_closed(world, peer):
    """While another origin keeps the transport busy."""
    other = H2Peer(peer.context)
    try:
        (path,) = script(peer, x=answer(201))
        (slow,) = script(other, slow=faults.late(0.8))
        driven = drive(*COMMON, "--ca", world.certificates.authority, "--idle-close", 200,
                       "--count", 2, "--in-flight", 2, "--url",
                       f"https://127.0.0.1:{peer.port}{path}", "--url",
                       f"https://127.0.0.1:{other.port}{slow}")
        assert driven.words == [201, 201]
        assert driven.summary["connections"] == 2 and driven.summary["open_connections"] <= 1
    finally:
        other.stop()


# ---- no TLS, no HTTP/2, nobody ----


class Deaf(Listener):
    """TCP, and then: say, and close or wait."""

    def __init__(self, words=b"", does_wait=False):
        self.words, self.does_wait = words, does_wait
        super().__init__()

    def serve(self, connection, number):
        connection.sendall(self.words)
        if self.does_wait:
            self.is_stopped.wait(5)


@pytest.mark.parametrize("server, words", [
    (lambda: Deaf(), {"tls_handshake"}),
    (lambda: Deaf(b"HTTP/1.1 400 Bad Request\r\n\r\n"), {"tls_handshake"}),
    (lambda: Deaf(does_wait=True), {"connect_timeout"}),
], ids=["closes", "speaks plain HTTP", "hangs"])
def test_no_handshake(world, server, words):
    listener = server()
    try:
        driven = ask(world, None, [f"/{SECRET}"] * 2, "--connect-timeout", 400, port=listener.port)
    finally:
        listener.stop()
    assert set(driven.words) == words and set(driven.effects) == {"not_sent"}
    assert driven.summary["duration_ms"] < 3000


def test_forbidden_addresses_are_never_connected_to(world, peer):
    """W5, by the address that is really connected to."""
    (path,) = script(peer, x=answer(201))
    for host in ("127.0.0.1", "localhost", "[::1]", "0.0.0.0", "127.1", "[::ffff:127.0.0.1]"):
        driven = drive("--ca", world.certificates.authority, "--timeout", 8000, "--url",
                       f"https://{host}:{peer.port}{path}", "--count", 2,
                       secrets=(SECRET, host))
        assert set(driven.words) == {"forbidden"} and set(driven.effects) == {"not_sent"}, host
    assert (peer.connections, seen(peer, path)) == (0, [0])
