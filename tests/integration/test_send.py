"""`lull send` against `lull mock`, fault by fault: the verdict, the exit code, and by the mock's log
that nobody came early. Then: no key, token, endpoint or plain text in any output of a run that fails.
"""

import base64
import http.server
import json
import subprocess
import threading
import urllib.parse
import urllib.request
from typing import NamedTuple

import h2_peer
import pytest

from mocking import Mock, PROGRAM, TIMEOUT_S

QUICK = "delivery base=50ms cap=100ms throttle-min=1s"
TEXT = "a word that nobody else may read"

DELIVERED, FAILED, USAGE, REFUSED, GAVE_UP, GONE, NO_TARGET = 0, 1, 2, 3, 4, 5, 6


class Sent(NamedTuple):
    exit: int
    report: dict
    stdout: str
    stderr: str


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("send")


@pytest.fixture(scope="module")
def key(folder):
    path = folder / "vapid.json"
    subprocess.run([PROGRAM, "keys", "new", "--out", str(path), "--sub", "mailto:ops@example.org"],
                   check=True, capture_output=True, timeout=TIMEOUT_S)
    return path


@pytest.fixture(scope="module")
def mock(folder):
    service = Mock(folder)
    yield service
    service.stop()


def run(*arguments, stdin=None):
    return subprocess.run([PROGRAM, "send", *map(str, arguments)], text=True, capture_output=True,
                          timeout=TIMEOUT_S,
                          **({"input": stdin} if stdin is not None else {"stdin": subprocess.DEVNULL}))


def send(key, to, *arguments, policy=QUICK, body=TEXT, private=True):
    done = run("--to", to, "--key", key, "--json", "--policy", policy,
               *(["--allow-private"] if private else []),
               *(["--body", body] if body is not None else []), *arguments)
    assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr
    report = json.loads(done.stdout) if done.stdout else {}
    return Sent(done.returncode, report, done.stdout, done.stderr)


def check_nobody_came_early(pushes):
    assert [push["early"] for push in pushes] == [False] * len(pushes), pushes
    for before, after in zip(pushes, pushes[1:]):
        if before["not_before_ms"] is not None:
            assert after["time_ms"] >= before["not_before_ms"], (before, after)


# What the service does, and what must come of it: exit code, reason, pushes that arrived.
FAULTS = {
    "nothing": ("", DELIVERED, "delivered", 1),
    "C7 429 with seconds (A1)": ("429:1", DELIVERED, "delivered", 2),
    "C7 429 with a date (A1)": ("429:date+2", DELIVERED, "delivered", 2),
    "C7 429 with an RFC 850 date (A1)": ("429:rfc850+2", DELIVERED, "delivered", 2),
    "C7 429 with an asctime date (A1)": ("429:asctime+2", DELIVERED, "delivered", 2),
    "C7 429 with an epoch (A6)": ("429:epoch+2", DELIVERED, "delivered", 2),
    "C7 429 with X-WNS-CONTINUE-AFTER (A7)": ("429:wns+1", DELIVERED, "delivered", 2),
    "C7 429 with a date in the past (A2)": ("429:past", DELIVERED, "delivered", 2),
    "C7 429 with nonsense (A1)": ('429="soon"', DELIVERED, "delivered", 2),
    "C7 429 with none (A5)": ("429", DELIVERED, "delivered", 2),
    "C3 503": ("503", DELIVERED, "delivered", 2),
    "A7 503 with seconds": ("503:1", DELIVERED, "delivered", 2),
    "C3 500, 502, 504, 408": ("500;502;504;408", DELIVERED, "delivered", 5),
    "C3 reset": ("reset", DELIVERED, "delivered", 2),
    "C3 close": ("close", DELIVERED, "delivered", 2),
    "C3 half an answer": ("half", DELIVERED, "delivered", 2),
    "slow": ("slow:300", DELIVERED, "delivered", 1),
    "all of them": ("429:1;503;reset;slow:300;201", DELIVERED, "delivered", 4),
    "B5 503 for ever": ("503*", GAVE_UP, "max_attempts_exceeded", 6),
    "B5 reset for ever": ("reset*", GAVE_UP, "max_attempts_exceeded", 6),
    "C5 404": ("404*", GONE, "gone", 1),
    "C5 410": ("410*", GONE, "gone", 1),
    "C5 410 after a 503": ("503;410*", GONE, "gone", 2),
    "C6 400": ("400*", REFUSED, "rejected", 1),
    "C6 401": ("401*", REFUSED, "auth", 1),
    "C6 403, V5": ("403*", REFUSED, "auth", 1),
    "C5 413": ("413*", REFUSED, "payload_too_large", 1),
    "C4 a redirect (W5)": ("302*", REFUSED, "rejected", 1),
    "C4 501": ("501*", REFUSED, "rejected", 1),
    "C8 429 with Retry-After: 0": ("429:0*", REFUSED, "auth", 2),
}


@pytest.mark.parametrize("name", FAULTS)
def test_fault(name, mock, key):
    plan, exit_code, reason, count = FAULTS[name]
    to = mock.subscribe(plan)
    sent = send(key, to)
    pushes = mock.pushes(to)
    assert (sent.exit, sent.report["reason"], len(pushes)) == (exit_code, reason, count), sent
    assert sent.report["exit"] == exit_code
    assert all(push["text"] == TEXT and push["problems"] == [] for push in pushes)
    assert [attempt["number"] for attempt in sent.report["attempts"]] == list(range(1, count + 1))
    check_nobody_came_early(pushes)


def test_C3_hang(mock, key):
    to = mock.subscribe("hang")
    sent = send(key, to, "--max-time", "0.5")
    assert (sent.exit, len(mock.pushes(to))) == (DELIVERED, 2)
    assert sent.report["attempts"][0]["transport"] == "timeout"
    assert sent.report["attempts"][0]["effect"] == "unknown"


def test_P6_a_bucket(mock, key, folder):
    """Messages to a service that takes two a second: all arrive, and nobody comes early."""
    service_folder = folder / "bucket"
    service_folder.mkdir()
    service = Mock(service_folder, "--plan", "bucket:2/s,2,seconds")
    try:
        subscriptions = [service.subscribe("bucket:2/s,1,date") for _ in range(3)]
        for to in subscriptions:
            assert [send(key, to).exit for _ in range(2)] == [DELIVERED] * 2
            check_nobody_came_early(service.pushes(to))
    finally:
        service.stop()


def test_410_after_so_many(mock, key):
    to = mock.subscribe("410 after 2")
    assert [send(key, to).exit for _ in range(3)] == [DELIVERED, DELIVERED, GONE]


def test_G7_a_retry_says_so(mock, key):
    to = mock.subscribe("503;503")
    send(key, to)
    assert [push["attempt"] for push in mock.pushes(to)] == [None, 2, 3]


def test_T2_a_wait_past_the_ttl_ends_it(mock, key):
    to = mock.subscribe("429:30")
    sent = send(key, to, "--ttl", "10")
    assert (sent.exit, sent.report["reason"]) == (GAVE_UP, "ttl_expired_during_backoff")
    assert len(mock.pushes(to)) == 1


def test_T3_what_remains_of_the_ttl_is_sent(mock, key):
    to = mock.subscribe("429:2")
    assert send(key, to, "--ttl", "100").exit == DELIVERED
    first, second = (int(push["ttl"]) for push in mock.pushes(to))
    assert first == 100 and 95 <= second <= 98


def test_T3_the_rest_of_a_second_is_not_now_or_never(mock, key):
    to = mock.subscribe("slow:300 503;slow:300 503")
    send(key, to, "--ttl", "1", policy="delivery base=1ms cap=1ms retries=1")
    assert [int(push["ttl"]) for push in mock.pushes(to)] == [1, 1]


def test_A4_retry_after_over_the_deadline(mock, key):
    to = mock.subscribe("503:60")
    sent = send(key, to, "--deadline", "5")
    assert (sent.exit, sent.report["reason"]) == (GAVE_UP, "ttl_expired_during_backoff")
    assert len(mock.pushes(to)) == 1


def test_W1_the_headers(mock, key):
    to = mock.subscribe()
    assert send(key, to, "--ttl", "60", "--urgency", "high", "--topic", "news").exit == DELIVERED
    (push,) = mock.pushes(to)
    assert (str(push["ttl"]), push["urgency"], push["topic"]) == ("60", "high", "news")
    assert push["bytes"] == len(TEXT) + 103


def test_W1_default_ttl_is_four_weeks(mock, key):
    to = mock.subscribe()
    send(key, to)
    assert int(mock.pushes(to)[0]["ttl"]) == 28 * 86400


@pytest.mark.parametrize("policy", ["client", "delivery ttl=none"])
def test_T1_a_policy_without_a_ttl(policy, mock, key):
    to = mock.subscribe()
    assert send(key, to, policy=policy).exit == DELIVERED
    assert int(mock.pushes(to)[0]["ttl"]) == 28 * 86400


def test_W1_no_body(mock, key):
    to = mock.subscribe()
    assert send(key, to, body=None).exit == DELIVERED
    assert mock.pushes(to)[0]["bytes"] == 0


@pytest.mark.parametrize("size", [0, 1, 3993])
def test_W1_sizes(size, mock, key, tmp_path):
    to = mock.subscribe()
    text = tmp_path / "text"
    text.write_text("x" * size)
    assert send(key, to, body=f"@{text}").exit == DELIVERED
    (push,) = mock.pushes(to)
    assert (push["bytes"], push["text"]) == (size + 103, "x" * size)


def test_body_from_standard_input(mock, key):
    to = mock.subscribe()
    done = run("--to", to, "--key", key, "--allow-private", "--body", "-", stdin="piped")
    assert (done.returncode, mock.pushes(to)[0]["text"]) == (DELIVERED, "piped")


def test_W3_padding(mock, key):
    to = mock.subscribe()
    assert send(key, to, "--pad", "100").exit == DELIVERED
    assert mock.pushes(to)[0]["bytes"] == len(TEXT) + 100 + 103
    for _ in range(4):
        assert send(key, to, "--pad", "random").exit == DELIVERED
    pushes = mock.pushes(to)
    assert len({push["bytes"] for push in pushes}) > 2
    assert all(push["bytes"] <= 4096 and push["text"] == TEXT for push in pushes)


def test_S5_another_key_is_refused(mock, key, tmp_path):
    other = tmp_path / "other.json"
    subprocess.run([PROGRAM, "keys", "new", "--out", str(other), "--sub", "mailto:a@example.org"],
                   check=True, capture_output=True, timeout=TIMEOUT_S)
    public = subprocess.run([PROGRAM, "keys", "show", "--key", str(key), "--public"], text=True,
                            check=True, capture_output=True, timeout=TIMEOUT_S).stdout.strip()
    to = mock.subscribe(applicationServerKey=public)
    assert send(key, to).exit == DELIVERED
    assert send(other, to).report["reason"] == "auth"


def test_W7_a_message_is_recalled_once(mock, key, tmp_path):
    receipt = tmp_path / "receipt"
    assert send(key, mock.subscribe(), "--receipt", receipt).exit == DELIVERED
    assert receipt.stat().st_mode & 0o777 == 0o600
    assert receipt.read_text().startswith(f"{mock.url}/message/")
    first = run("--recall", receipt, "--key", key, "--allow-private")
    assert first.returncode == DELIVERED and "recalled, HTTP 204" in first.stderr
    again = run("--recall", receipt, "--key", key, "--allow-private", "--json")
    assert (again.returncode, json.loads(again.stdout)["reason"]) == (GONE, "gone")
    assert json.loads(again.stdout)["attempts"][0]["warnings"] == []  # the subscription is not
    assert receipt.read_text().strip() not in first.stderr + again.stderr + again.stdout


def test_W7_what_is_no_receipt(key, tmp_path):
    receipt = tmp_path / "receipt"
    receipt.write_text("hello\n")
    done = run("--recall", receipt, "--key", key)
    assert done.returncode == USAGE and "the file is not a receipt" in done.stderr
    for host in ("\u00fc.example", "a." * 200 + "b"):
        receipt.write_text(f"https://{host}/message/1\n")
        done = run("--recall", receipt, "--key", key)
        assert done.returncode == USAGE and "the file is not a receipt" in done.stderr
    receipt.write_text("https://push.example.org/message/1\n")
    for option in ("--body", "--topic", "--ttl"):
        assert run("--recall", receipt, "--key", key, option, "1").returncode == USAGE


# What a service may say of where the message is, and the receipt of it; None: nothing to be kept.
LOCATIONS = {
    "a path": ("/message/1", "{url}/message/1"),
    "a path from here": ("message/1", "{url}/push/message/1"),
    "another host": ("//other.example/m/1", "http://other.example/m/1"),
    "a whole URL, byte for byte": ("https://OTHER.example/a/../m?t=%2f",
                                   "https://OTHER.example/a/../m?t=%2f"),
    "controls": ("/message/\x1b[31m\x01", None),
    "a space": ("http://other.example/m 1", None),
    "a file": ("file:///etc/passwd", None),
    "too long": ("/" + "m" * 3000, None),
    "empty": ("", None),
    "nothing": (None, None),
}


@pytest.fixture(scope="module")
def locator():
    """A service that answers 201 with the location of that name."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            location = LOCATIONS[urllib.parse.unquote(self.path.rsplit("/", 1)[1])][0]
            self.send_response(201)
            if location is not None:
                self.send_header("Location", location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("name", LOCATIONS)
def test_W7_locations(name, locator, mock, key, tmp_path):
    wanted = LOCATIONS[name][1]
    subscription = json.loads(mock.subscribe().read_text())
    subscription["endpoint"] = f"{locator}/push/{urllib.parse.quote(name)}"
    to, receipt = tmp_path / "to.json", tmp_path / "receipt"
    to.write_text(json.dumps(subscription))
    sent = send(key, to, "--receipt", receipt)
    assert sent.report["verdict"] == "delivered" and sent.report["exit"] == sent.exit
    if wanted is None:
        assert sent.exit == FAILED and "delivered, but" in sent.stderr and not receipt.exists()
    else:
        assert sent.exit == DELIVERED and receipt.read_text() == wanted.format(url=locator) + "\n"
        assert run("--recall", receipt, "--key", key, "--dry-run").returncode == 0


def test_W7_a_receipt_that_cannot_be_kept_is_told_before(mock, key, tmp_path):
    to = mock.subscribe()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    for path in (tmp_path, tmp_path / "none" / "receipt", tmp_path / "link", "", "x" * 5000):
        assert send(key, to, "--receipt", path).exit == USAGE
    assert mock.pushes(to) == [] and [path.name for path in tmp_path.iterdir()] == ["link"]


def test_S2_unsubscribed(mock, key):
    to = mock.subscribe()
    request = urllib.request.Request(f"{mock.url}/subscription/{to.stem}", method="DELETE")
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
        assert answer.status == 204
    assert send(key, to).exit == GONE


def test_S6_invalid_is_gone_without_being_asked(mock, key, tmp_path):
    subscription = json.loads(mock.subscribe().read_text())
    subscription["endpoint"] = "https://permanently-removed.invalid/fcm/send/abc"
    to = tmp_path / "gone.json"
    to.write_text(json.dumps(subscription))
    sent = send(key, to, private=False)
    assert (sent.exit, sent.report["attempts"]) == (GONE, [])


def test_W5_private_addresses_are_refused(mock, key):
    to = mock.subscribe()
    sent = send(key, to, private=False)
    assert (sent.exit, sent.report["reason"], mock.pushes(to)) == (NO_TARGET, "invalid_target", [])
    assert sent.report["attempts"][0]["transport"] == "forbidden"


def test_W5_nor_by_a_proxy(mock, key, monkeypatch):
    monkeypatch.setenv("http_proxy", mock.url)
    to = mock.subscribe()
    assert send(key, to, private=False).exit == NO_TARGET
    assert mock.pushes(to) == []


@pytest.mark.parametrize("fault, effect, word", [
    (h2_peer.answer(503), "refused", "none"), (h2_peer.refuse(), "refused", "refused_stream"),
    (h2_peer.goaway_unprocessed(), "refused", "goaway"), (h2_peer.cancel(), "unknown", "reset")],
    ids=["503", "refused stream", "goaway", "reset"])
def test_W1_C12_a_push_goes_by_http_2(world, key, mock, path, fault, effect, word):
    """To a peer that speaks nothing else: after each fault it comes again, once."""
    to = mock.subscribe()
    subscription = json.loads(to.read_text())
    subscription["endpoint"] = f"https://127.0.0.1:{world.h2.port}{path}"
    to.write_text(json.dumps(subscription))
    world.h2.script(path, fault, h2_peer.answer(201))
    sent = send(key, to, "--cacert", world.certificates.authority, "--ttl", 60)
    assert sent.exit == DELIVERED, sent
    first, second = sent.report["attempts"]
    assert (first["effect"], first["transport"], second["status"]) == (effect, word, 201)
    requests = world.h2.requests(path)
    assert [request.method for request in requests] == ["POST", "POST"]
    assert all(request.headers["content-encoding"] == "aes128gcm" and request.body and
               request.headers["authorization"].startswith("vapid t=") for request in requests)
    assert int(requests[1].headers["ttl"]) <= 60  # T3


def test_W5_tls_is_verified(key, folder):
    tls = folder / "tls"
    tls.mkdir()
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-keyout", tls / "key", "-out", tls / "cert",
                    "-days", "1", "-subj", "/CN=127.0.0.1", "-addext",
                    "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    service = Mock(tls, "--cert", str(tls / "cert"), "--key", str(tls / "key"), "--subscription",
                   str(tls / "own.json"))
    try:
        to = tls / "own.json"
        refused = send(key, to)
        assert (refused.exit, refused.report["attempts"][0]["transport"]) == (NO_TARGET, "tls")
        assert send(key, to, "--cacert", tls / "cert").exit == DELIVERED
    finally:
        service.stop()


def test_nobody_there(key, mock, tmp_path):
    subscription = json.loads(mock.subscribe().read_text())
    subscription["endpoint"] = "http://127.0.0.1:1/push/x"
    to = tmp_path / "closed.json"
    to.write_text(json.dumps(subscription))
    sent = send(key, to, "--retries", "2")
    assert (sent.exit, sent.report["reason"]) == (GAVE_UP, "max_attempts_exceeded")
    assert [a["transport"] for a in sent.report["attempts"]] == ["refused"] * 3


def test_dry_run_sends_nothing(mock, key):
    to = mock.subscribe()
    done = run("--to", to, "--key", key, "--body", TEXT, "--topic", "news", "--dry-run")
    assert done.returncode == 0 and mock.pushes(to) == []
    assert "Authorization: vapid t=***, k=***\n" in done.stdout
    assert f"POST {mock.url}/*** " in done.stdout and "Topic: news\n" in done.stdout
    assert f"Content-Length: {len(TEXT) + 103}\n" in done.stdout
    assert json.loads(to.read_text())["endpoint"] not in done.stdout


def test_progress_is_a_line_per_attempt(mock, key):
    to = mock.subscribe("503;429:1")
    done = run("--to", to, "--key", key, "--body", TEXT, "--allow-private", "--policy", QUICK)
    lines = done.stderr.splitlines()
    assert done.returncode == 0 and done.stdout == "" and len(lines) == 3, lines
    assert lines[0].startswith("lull send: attempt 1: HTTP 503; again in ")
    assert lines[1].startswith("lull send: attempt 2: HTTP 429, asked to wait 1.0 s; again in 1")
    assert lines[2].startswith("lull send: delivered, HTTP 201, attempt 3, service other, sha256:")
    quiet = run("--to", to, "--key", key, "--body", TEXT, "--allow-private", "-q")
    assert (quiet.returncode, quiet.stderr) == (0, "")


def test_closed_standard_files_are_no_connection(mock, key):
    """Else the connection got their number, and what is said of a retry went to the service."""
    to = mock.subscribe("503;503")
    done = subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", PROGRAM, "send", "--to", to,
                           "--key", key, "--body", TEXT, "--allow-private", "--explain", "--policy",
                           QUICK], timeout=TIMEOUT_S)
    pushes = mock.pushes(to)
    assert (done.returncode, [push["attempt"] for push in pushes]) == (DELIVERED, [None, 2, 3])


def test_explain_shows_each_question(mock, key):
    to = mock.subscribe("503")
    sent = send(key, to, "--explain")
    assert "What does it mean?" in sent.stderr and "C7" in sent.stderr and sent.exit == DELIVERED


# ---- bad input ----

BAD = {
    "no --to": ((), "--to must name a subscription"),
    "--to that is not there": (("--to", "/nonexistent"), "cannot be read"),
    "--urgency": (("--urgency", "soon"), "--urgency must be very-low, low, normal or high"),
    "--topic too long": (("--topic", "x" * 33), "--topic must be 1 to 32 characters"),
    "--topic of other letters": (("--topic", "a b"), "--topic must be 1 to 32 characters"),
    "--ttl": (("--ttl", "-1"), "--ttl must be a whole number"),
    "--ttl with a unit": (("--ttl", "1h"), "--ttl must be a whole number"),
    "--pad": (("--pad", "3994"), "--pad must be a whole number from 0 to 3993"),
    "--pad without a body": (("--pad", "5"), "--to must name a subscription"),
    "--body too long": (("--body", "x" * 3994), "--body has 3994 bytes, at most 3993 fit"),
    "--policy": (("--policy", "bulk cap=never"), "--policy: at character"),
    "--retries": (("--retries", "many"), "--retries must be a whole number"),
    "standard input twice": (("--to", "-", "--body", "-"), "cannot both be standard input"),
    "an argument too many": (("hello",), "an argument too many"),
    "an unknown option": (("--tll", "5"), "there is no option --tll"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments(name):
    arguments, sentence = BAD[name]
    done = run(*arguments)
    assert done.returncode == USAGE and done.stdout == ""
    assert sentence in done.stderr and "Try 'lull help send'." in done.stderr


def changed(subscription, **changes):
    return {**subscription, **changes}


BAD_SUBSCRIPTIONS = {
    "no JSON": (lambda s: "{", "not valid JSON"),
    "a list": (lambda s: "[]", "a subscription is a JSON object"),
    "no endpoint": (lambda s: changed(s, endpoint=None), "endpoint must be a string"),
    "another scheme": (lambda s: changed(s, endpoint="ftp://example.org/"),
                       "endpoint must be an absolute https"),
    "no keys": (lambda s: changed(s, keys=None), "keys must be an object"),
    "no auth": (lambda s: changed(s, keys={"p256dh": s["keys"]["p256dh"]}), "keys.auth is missing"),
    "S3 a short auth": (lambda s: changed(s, keys={**s["keys"], "auth": "AAAA"}),
                        "keys.auth must have 16 bytes, it has 3"),
    "S3 no point": (lambda s: changed(s, keys={**s["keys"], "p256dh": base64.urlsafe_b64encode(
        b"\4" + b"\1" * 64).decode().rstrip("=")}), "keys.p256dh is not an uncompressed point"),
    "S3 a short p256dh": (lambda s: changed(s, keys={**s["keys"], "p256dh": s["keys"]["p256dh"][:40]}),
                          "keys.p256dh must have 65 bytes, it has 30"),
}


@pytest.mark.parametrize("name", BAD_SUBSCRIPTIONS)
def test_bad_subscription(name, mock, key, tmp_path):
    change, sentence = BAD_SUBSCRIPTIONS[name]
    made = mock.subscribe()
    subscription = change(json.loads(made.read_text()))
    to = tmp_path / "bad.json"
    to.write_text(subscription if isinstance(subscription, str) else json.dumps(subscription))
    done = run("--to", to, "--key", key, "--body", TEXT, "--allow-private")
    assert done.returncode == USAGE and f"--to: {sentence}" in done.stderr
    assert mock.pushes(made) == []


# ---- secrets (L1) ----

@pytest.mark.parametrize("plan", ["503*", "reset*", "410*", "400*", "401*", "403*", "413*", "429:0*",
                                  "half*", "429:100"])
def test_L1_no_secret_in_any_output_of_a_failing_run(plan, mock, key):
    to = mock.subscribe(plan)
    subscription = json.loads(to.read_text())
    stored = json.loads(key.read_text())
    sent = send(key, to, "--explain", "--ttl", "50", "--topic", "t0pic")
    assert sent.exit in (REFUSED, GAVE_UP, GONE)
    public = subprocess.run([PROGRAM, "keys", "show", "--key", str(key), "--public"], text=True,
                            check=True, capture_output=True, timeout=TIMEOUT_S).stdout.strip()
    secrets = {
        "endpoint": subscription["endpoint"], "endpoint's path": f"/push/{to.stem}",
        "p256dh": subscription["keys"]["p256dh"], "auth": subscription["keys"]["auth"],
        "private key": stored["d"], "public key": public, "plain text": TEXT,
        "start of a token": "eyJ0", "Authorization": "vapid t=",
    }
    for name, secret in secrets.items():
        assert secret not in sent.stdout + sent.stderr, name


def test_L1_no_secret_in_the_words_about_bad_files(mock, key, tmp_path):
    to = mock.subscribe()
    text = to.read_text()
    secrets = json.loads(text)
    for position in range(1, len(text), 7):
        cut = tmp_path / "cut.json"
        cut.write_text(text[:position])
        done = run("--to", cut, "--key", key, "--body", TEXT)
        assert done.returncode == USAGE
        for secret in (secrets["endpoint"], secrets["keys"]["auth"], secrets["keys"]["p256dh"][:20]):
            assert secret not in done.stderr
