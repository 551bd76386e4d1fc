"""`lull mock`, from the outside: real sockets, and pushes made by hand (pushes.py)."""

import concurrent.futures
import email.utils
import http.client
import json
import os
import pathlib
import signal
import socket
import ssl
import stat
import subprocess
import tempfile
import time
import urllib.parse

import pytest

import pushes

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("LULL_PROGRAM", str(ROOT / "build" / "lull"))
SENDER = pushes.Sender()
TEXT = b"hello, hello"


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def json(self):
        return json.loads(self.body)


class Mock:
    """A running service. Its log goes to a file: a line is there before its answer is."""

    def __init__(self, *arguments, context=None):
        self.context = context
        self._folder = tempfile.TemporaryDirectory(prefix="lull-mock-")
        self._log = pathlib.Path(self._folder.name) / "log"
        if "--log" not in arguments and "--quiet" not in arguments:
            arguments = ("--log", str(self._log), *arguments)
        self.process = subprocess.Popen([PROGRAM, "mock", *arguments], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        first = self.process.stdout.readline()
        assert first, self.process.stderr.read()
        self.ready = json.loads(first)
        self.url = self.ready["url"]
        self.host = urllib.parse.urlsplit(self.url).netloc

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()
        self.process.stdout.close()
        self.process.stderr.close()
        self._folder.cleanup()

    def stop(self, how=signal.SIGTERM):
        """Exit code, the rest of standard output, standard error."""
        self.process.send_signal(how)
        output, error = self.process.communicate(timeout=10)
        return self.process.returncode, output, error

    def connection(self, timeout=10):
        if self.context:
            return http.client.HTTPSConnection(self.host, timeout=timeout, context=self.context)
        return http.client.HTTPConnection(self.host, timeout=timeout)

    def ask(self, method, path, body=None, headers=None, timeout=10):
        connection = self.connection(timeout)
        try:
            connection.request(method, path, body, headers or {})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def subscribe(self, **members):
        answer = self.ask("POST", "/subscribe", json.dumps(members) if members else None)
        assert answer.status == 201, answer.body
        return answer.json

    def headers(self, **changes):
        """Those of a good push; a change to None takes one away."""
        headers = {"TTL": "60", "Content-Encoding": "aes128gcm",
                   "Authorization": SENDER.authorization(self.url)}
        headers.update({name.replace("_", "-"): value for name, value in changes.items()})
        return {name: value for name, value in headers.items() if value is not None}

    def push(self, subscription, body=None, timeout=10, **changes):
        body = pushes.encrypt(subscription, TEXT) if body is None else body
        return self.ask("POST", urllib.parse.urlsplit(subscription["endpoint"]).path, body,
                        self.headers(**changes), timeout)

    def log(self):
        """The pushes so far."""
        lines = [json.loads(line) for line in self._log.read_text().splitlines()]
        return [line for line in lines if line["event"] == "push"]

    def first_push(self):
        """For one that is not answered."""
        end = time.monotonic() + 5
        while not self.log() and time.monotonic() < end:
            time.sleep(0.005)
        return self.log()[0]


@pytest.fixture(scope="module")
def mock():
    with Mock() as service:
        yield service


# ---- arguments ----

WRONG = [
    (["extra"], "takes no arguments"),
    (["--bogus"], "--bogus"),
    (["--listen", "8080"], "--listen must be HOST:PORT"),
    (["--listen", "127.0.0.1:"], "--listen must be"),
    (["--listen", "127.0.0.1:65536"], "--listen must be"),
    (["--listen", "::1:80"], "--listen must be"),
    (["--listen"], "--listen needs a value"),
    (["--seed", "x"], "--seed must be"),
    (["--plan", "503;nope"], "--plan: at character 5: expected a status"),
    (["--plan", "429:date"], "--plan: at character 9: "),
    (["--cert", "/nonexistent"], "--cert and --key go together"),
]


@pytest.mark.parametrize("arguments,part", WRONG, ids=[" ".join(a) for a, _ in WRONG])
def test_wrong_arguments_are_refused_with_a_sentence(arguments, part):
    done = subprocess.run([PROGRAM, "mock", *arguments], text=True, capture_output=True, timeout=20)
    assert (done.returncode, done.stdout) == (2, "")
    assert part in done.stderr and "lull help mock" in done.stderr


@pytest.mark.parametrize("arguments,part", [
    (["--cert", "/nonexistent", "--key", "/nonexistent"], "certificate"),
    (["--cert", "/dev/null", "--key", "/dev/null"], "certificate"),
    (["--log", "/nonexistent/x"], "--log"),
    (["--subscription", "/nonexistent/x"], "--subscription"),
    (["--listen", "192.0.2.1:0"], "cannot listen"),
])
def test_what_cannot_run_says_why(arguments, part):
    done = subprocess.run([PROGRAM, "mock", *arguments], text=True, capture_output=True, timeout=20)
    assert done.returncode in (1, 2) and done.stdout == ""
    assert part in done.stderr


def test_help_names_every_option():
    done = subprocess.run([PROGRAM, "mock", "--help"], text=True, capture_output=True, timeout=20)
    assert done.returncode == 0
    for word in ("--listen", "--cert", "--key", "--plan", "--seed", "--log", "--subscription",
                 "--no-vapid", "--quiet", "bucket:", "after", "reset", "slow:", "Exit status"):
        assert word in done.stdout, word


# ---- its life ----

@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_it_says_where_it_is_and_ends_cleanly(how):
    with Mock("--seed", "7") as service:
        assert set(service.ready) == {"event", "time_ms", "url", "seed"}
        assert (service.ready["event"], service.ready["seed"]) == ("listening", 7)
        assert abs(service.ready["time_ms"] / 1000 - time.time()) < 60
        assert service.stop(how) == (0, "", "")


def test_it_ends_though_a_push_hangs():
    with Mock("--plan", "hang") as service:
        subscription = service.subscribe()
        connection = service.connection()
        connection.request("POST", urllib.parse.urlsplit(subscription["endpoint"]).path,
                           pushes.encrypt(subscription, TEXT), service.headers())
        assert service.first_push()["status"] == "hang"
        start = time.monotonic()
        assert service.stop() == (0, "", "")
        assert time.monotonic() - start < 5
        connection.close()


def test_a_log_that_cannot_be_written_ends_it():
    with Mock("--log", "/dev/full") as service:
        try:
            service.ask("POST", "/subscribe")
        except (OSError, http.client.HTTPException):
            pass
        assert service.process.wait(10) == 1
        assert "the log cannot be written" in service.process.stderr.read()


def test_the_subscription_file_is_ready_and_private(tmp_path):
    path = tmp_path / "subscription.json"
    path.write_text("an old one")
    path.chmod(0o644)
    with Mock("--subscription", str(path)) as service:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        subscription = json.loads(path.read_text())
        assert subscription["endpoint"].startswith(service.url + "/push/")
        assert service.push(subscription).status == 201


def test_the_log_goes_to_a_file_or_to_standard_output_or_nowhere(tmp_path):
    path = tmp_path / "log"
    for arguments, output_events, file_events in (
            (["--log", str(path)], [], ["subscribed", "push"]),
            (["--log", str(path), "--quiet"], [], ["subscribed", "push"] * 2),
            (["--log", "-"], ["subscribed", "push"], ["subscribed", "push"] * 2),
            (["--quiet"], [], ["subscribed", "push"] * 2)):
        with Mock(*arguments) as service:
            assert service.push(service.subscribe()).status == 201
            code, output, error = service.stop()
            assert (code, error) == (0, "")
            events = [[json.loads(line)["event"] for line in text.splitlines()]
                      for text in (output, path.read_text())]
            assert events == [output_events, file_events]
            assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("no IPv6 here")
    with Mock("--listen", "[::1]:0") as service:
        assert service.url.startswith("http://[::1]:")
        assert service.push(service.subscribe()).status == 201


def test_tls(tmp_path):
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out",
                    str(cert)], check=True, capture_output=True, timeout=30)
    context = ssl.create_default_context(cafile=str(cert))
    with Mock("--cert", str(cert), "--key", str(key), "--plan", "ok;reset",
              context=context) as service:
        assert service.url.startswith("https://127.0.0.1:")
        subscription = service.subscribe()
        assert service.push(subscription).status == 201
        with pytest.raises(OSError):
            service.push(subscription)
        assert service.push(subscription).status == 201
        assert [line["status"] for line in service.log()] == [201, "reset", 201]


# ---- the service ----

def test_root_has_a_date(mock):
    answer = mock.ask("GET", "/")
    assert answer.status == 200
    assert abs(email.utils.parsedate_to_datetime(answer.headers["Date"]).timestamp()
               - time.time()) < 5
    assert mock.ask("HEAD", "/").status == 200


@pytest.mark.parametrize("method,path,status", [
    ("GET", "/nothing", 404), ("POST", "/", 405), ("GET", "/subscribe", 405),
    ("GET", "/push/0123456789abcdef", 405), ("PUT", "/push/0123456789abcdef", 405),
    ("POST", "/message/0123456789abcdef", 405), ("DELETE", "/message/0123456789abcdef", 404),
    ("DELETE", "/message/" + "a" * 5000, 404), ("DELETE", "/subscription/x", 404),
    ("POST", "/push/", 404), ("POST", "/pushx", 404),
])
def test_other_paths_and_methods(mock, method, path, status):
    answer = mock.ask(method, path)
    assert answer.status == status
    assert answer.json["code"] == status
    assert (answer.headers["Allow"] is not None) == (status == 405)


def test_W1_subscribe(mock):
    answer = mock.ask("POST", "/subscribe")
    assert answer.status == 201
    subscription = answer.json
    assert set(subscription) == {"endpoint", "expirationTime", "keys"}
    assert subscription["expirationTime"] is None
    name = subscription["endpoint"].rsplit("/", 1)[1]
    assert subscription["endpoint"] == f"{mock.url}/push/{name}"
    assert answer.headers["Location"] == f"/subscription/{name}"
    assert answer.headers["Link"] == f'</push/{name}>; rel="urn:ietf:params:push"'
    assert len(pushes.decode(subscription["keys"]["p256dh"])) == 65
    assert len(pushes.decode(subscription["keys"]["auth"])) == 16
    assert mock.subscribe()["keys"] != subscription["keys"]


@pytest.mark.parametrize("body,query,part", [
    ('{"plan":"nope"}', "", "plan: at character 1: expected a status"),
    (None, "?plan=503%3Bnope", "plan: at character 5"),
    ('{"applicationServerKey":"AAAA"}', "", "applicationServerKey"),
    ('{"applicationServerKey":"%%%"}', "", "applicationServerKey"),
    ('{"plan":5}', "", "JSON object"),
    ("[]", "", "JSON object"),
    ("{", "", "JSON object"),
])
def test_a_bad_subscribe_says_what_is_wrong(mock, body, query, part):
    answer = mock.ask("POST", "/subscribe" + query, body)
    assert answer.status == 400
    assert part in answer.json["message"]


def test_W1_a_good_push_is_decrypted_and_shown(mock):
    subscription = mock.subscribe()
    before_ms = time.time() * 1000
    answer = mock.push(subscription, Urgency="high", Topic="news-1_x", Lull_Attempt="3")
    assert answer.status == 201
    assert answer.headers["TTL"] == "60"
    assert answer.headers["Location"].startswith(mock.url + "/message/")
    line = mock.log()[-1]
    name = subscription["endpoint"].rsplit("/", 1)[1]
    assert before_ms - 1 <= line["time_ms"] <= time.time() * 1000
    assert line["mono_ms"] > 0
    del line["time_ms"], line["mono_ms"]
    assert line == {"event": "push", "subscription": name, "n": 1, "attempt": 3, "status": 201,
                    "retry_after": None, "not_before_ms": None, "early": False, "problems": [],
                    "ttl": 60, "urgency": "high", "topic": "news-1_x",
                    "bytes": len(TEXT) + 103, "text": TEXT.decode()}


@pytest.mark.parametrize("text,member,value", [
    (b"", "text", ""),
    ("ÄÖ \u20ac \U0001f600".encode(), "text", "ÄÖ \u20ac \U0001f600"),
    (b"a\x00b\n\"", "text", "a\x00b\n\""),
    (b"\xff\xfe", "text_base64url", "__4"),
    (b"x" * 3993, "text", "x" * 3993),
    (b"\xff" * 3993, "text_base64url", pushes.encode(b"\xff" * 3993)),
])
def test_any_text_is_shown(mock, text, member, value):
    subscription = mock.subscribe()
    assert mock.push(subscription, pushes.encrypt(subscription, text)).status == 201
    assert mock.log()[-1][member] == value


def test_W1_a_push_without_a_body_is_fine(mock):
    assert mock.push(mock.subscribe(), b"", Content_Encoding=None).status == 201
    assert (mock.log()[-1]["bytes"], mock.log()[-1]["text"]) == (0, None)


def test_V1_the_ttl_is_granted_up_to_thirty_days(mock):
    subscription = mock.subscribe()
    for asked, granted in (("0", "0"), ("2592001", "2592000"), ("9" * 30, "2592000")):
        assert mock.push(subscription, TTL=asked).headers["TTL"] == granted


def other_origin(service):
    return SENDER.authorization("https://push.example.net")


def forged(service):
    """Signed by one key, said to be another's."""
    return SENDER.authorization(service.url).split("k=")[0] + "k=" + pushes.Sender().public


BAD = [
    # what is wrong with it, status, errno, the log's words
    (dict(TTL=None), 400, 111, ["ttl_missing"]),
    (dict(TTL="soon"), 400, 111, ["ttl_malformed"]),
    (dict(TTL="1.5"), 400, 111, ["ttl_malformed"]),
    (dict(TTL="-1"), 400, 114, ["ttl_negative"]),
    (dict(Content_Encoding=None), 400, 110, ["content_encoding"]),
    (dict(Content_Encoding="aesgcm"), 400, 110, ["content_encoding"]),
    (dict(body=b"x" * 200), 400, 110, ["encryption"]),
    (dict(body=b"x"), 400, 110, ["encryption"]),
    (dict(body=b"x" * 4097), 413, 104, ["body_too_large"]),
    (dict(body=b"x" * 100000), 413, 104, ["body_too_large"]),
    (dict(Urgency="urgent"), 400, 999, ["urgency"]),
    (dict(Topic="a" * 33), 400, 113, ["topic"]),
    (dict(Topic="a b"), 400, 113, ["topic"]),
    (dict(Authorization=None), 401, 109, ["vapid_missing"]),
    (dict(Authorization="vapid nonsense"), 401, 109, ["vapid_malformed"]),
    (dict(Authorization="Bearer abc"), 401, 109, ["vapid_malformed"]),
    (dict(Authorization=forged), 403, 109, ["vapid_signature"]),
    (dict(Authorization=other_origin), 403, 109, ["vapid_claims"]),
    (dict(Authorization=lambda s: SENDER.authorization(s.url, -60)), 403, 109, ["vapid_claims"]),
    (dict(Authorization=lambda s: SENDER.authorization(s.url, 25 * 3600)), 403, 109,
     ["vapid_claims"]),
    (dict(TTL=None, Topic="", Authorization=None), 400, 111,
     ["ttl_missing", "topic", "vapid_missing"]),
]


@pytest.mark.parametrize("changes,status,number,words", BAD,
                         ids=[f"{i}-{case[3][0]}" for i, case in enumerate(BAD)])
def test_W1_V1_a_bad_push_is_refused(mock, changes, status, number, words):
    changes = {name: value(mock) if callable(value) else value for name, value in changes.items()}
    answer = mock.push(mock.subscribe(), **changes)
    assert answer.status == status
    assert set(answer.json) == {"code", "errno", "error", "message"}
    assert (answer.json["code"], answer.json["errno"]) == (status, number)
    assert answer.json["message"]
    line = mock.log()[-1]
    assert (line["status"], line["problems"]) == (status, words)
    if "body" in changes:
        assert line["bytes"] == len(changes["body"]) and line["text"] is None


def test_a_body_that_was_changed_or_is_anothers(mock):
    one, two = mock.subscribe(), mock.subscribe()
    body = pushes.encrypt(one, TEXT)
    assert mock.push(one, body[:-1] + bytes([body[-1] ^ 1])).json["errno"] == 110
    assert mock.push(two, body).json["errno"] == 110
    assert mock.push(one, body).status == 201


def test_an_unknown_subscription(mock):
    subscription = {**mock.subscribe(), "endpoint": mock.url + "/push/0123456789abcdef"}
    answer = mock.push(subscription)
    assert (answer.status, answer.json["errno"]) == (404, 102)
    assert mock.log()[-1]["subscription"] is None
    assert mock.log()[-1]["problems"] == ["subscription_unknown"]


def test_a_deleted_subscription_is_gone(mock):
    subscription = mock.subscribe()
    path = "/subscription/" + subscription["endpoint"].rsplit("/", 1)[1]
    assert mock.push(subscription).status == 201
    assert mock.ask("DELETE", path).status == 204
    answer = mock.push(subscription)
    assert (answer.status, answer.json["errno"]) == (410, 103)
    assert (mock.log()[-1]["n"], mock.log()[-1]["problems"]) == (2, ["subscription_gone"])
    assert mock.ask("DELETE", path).status == 404


def test_W7_a_message_is_taken_back_once(mock):
    path = mock.push(mock.subscribe()).headers["Location"][len(mock.url):]
    assert [mock.ask("DELETE", path).status for _ in range(2)] == [204, 404]


def test_a_subscription_of_one_sender(mock):
    subscription = mock.subscribe(applicationServerKey=SENDER.public)
    assert mock.push(subscription).status == 201
    answer = mock.push(subscription, Authorization=pushes.Sender().authorization(mock.url))
    assert (answer.status, answer.json["errno"]) == (403, 109)
    assert mock.log()[-1]["problems"] == ["vapid_key"]


def test_no_vapid():
    with Mock("--no-vapid") as service:
        subscription = service.subscribe()
        assert service.push(subscription, Authorization=None).status == 201
        assert service.push(subscription, Authorization="vapid x").status == 401
        assert service.push(service.subscribe(applicationServerKey=SENDER.public),
                            Authorization=None).status == 401


# ---- plans ----

def outcome(service, subscription, **options):
    try:
        return service.push(subscription, **options).status
    except http.client.RemoteDisconnected:  # a kind of reset, to Python
        return "close"
    except ConnectionResetError:
        return "reset"
    except http.client.BadStatusLine:
        return "half"


def test_steps_in_their_order_for_each_subscription():
    with Mock("--plan", "429:2;503;reset;close;half;202;404*2") as service:
        one, two = service.subscribe(), service.subscribe()
        story = [429, 503, "reset", "close", "half", 202, 404, 404, 201, 201]
        assert [outcome(service, one) for _ in story] == story
        assert [outcome(service, two) for _ in story[:3]] == story[:3]
        lines = service.log()
        assert [line["status"] for line in lines] == story + story[:3]
        assert [line["n"] for line in lines] == [*range(1, 11), 1, 2, 3]
        assert all(line["text"] == TEXT.decode() for line in lines)


def test_a_plan_of_its_own(mock):
    by_body = mock.subscribe(plan="503;410 after 2")
    by_query = mock.ask("POST", "/subscribe?plan=" + urllib.parse.quote("100% 500")).json
    assert [outcome(mock, by_body) for _ in range(4)] == [503, 201, 410, 410]
    assert [outcome(mock, by_query) for _ in range(2)] == [500, 500]
    assert outcome(mock, mock.subscribe()) == 201


def test_the_plan_overrules_and_the_checks_are_still_logged(mock):
    subscription = mock.subscribe(plan="503;200;ok")
    assert mock.push(subscription, TTL=None).status == 503
    assert mock.log()[-1]["problems"] == ["ttl_missing"]
    # A success is never told to a push that is wrong.
    assert mock.push(subscription, TTL=None).status == 400
    assert mock.push(subscription).status == 201


@pytest.mark.parametrize("wait,name,is_known", [
    ("429:2", "Retry-After", True), ("503:date+2", "Retry-After", True),
    ("429:rfc850+2", "Retry-After", True), ("429:asctime+2", "Retry-After", True),
    ("429:epoch+2", "Retry-After", True), ("406:wns+2", "X-WNS-CONTINUE-AFTER", True),
    ("429:past", "Retry-After", False), ('429="soon"', "Retry-After", False),
    ("429", None, False),
])
def test_A1_every_form_of_a_wait_is_sent_and_logged(mock, wait, name, is_known):
    answer = mock.push(mock.subscribe(plan=wait))
    line = mock.log()[-1]
    assert answer.status == line["status"] == int(wait[:3])
    assert line["retry_after"] == (answer.headers[name] if name else None)
    assert (line["not_before_ms"] is not None) == is_known
    if is_known:
        assert 900 < line["not_before_ms"] - line["time_ms"] < 2500
    if name is None:
        assert answer.headers["Retry-After"] is None
    if "date" in wait or "asctime" in wait or "rfc850" in wait:
        when = email.utils.parsedate_to_datetime(answer.headers[name])
        assert when.replace(tzinfo=email.utils.datetime.timezone.utc).timestamp() * 1000 == \
            line["not_before_ms"]


def test_A3_who_comes_early_is_found_out(mock):
    subscription = mock.subscribe(plan="429:1;ok;ok;429:date+1")
    for _ in range(2):
        mock.push(subscription)
    first, second = mock.log()[-2:]
    assert (first["early"], second["early"]) == (False, True)
    time.sleep(max(0, first["not_before_ms"] / 1000 - time.time()) + 0.002)
    mock.push(subscription)
    assert mock.log()[-1]["early"] is False
    mock.push(subscription)
    wait_ms = mock.log()[-1]["not_before_ms"]
    time.sleep(max(0, wait_ms / 1000 - time.time()) + 0.002)
    mock.push(subscription)
    assert mock.log()[-1]["early"] is False
    assert mock.log()[-1]["time_ms"] >= wait_ms


def test_a_success_does_not_lift_a_wait_that_is_in_force(mock):
    subscription = mock.subscribe(plan="429:60")
    for _ in range(3):
        mock.push(subscription)
    assert [line["early"] for line in mock.log()[-3:]] == [False, True, True]


def test_slow(mock):
    subscription = mock.subscribe(plan="slow:300;slow:200 503:1")
    for least, status in ((0.3, 201), (0.2, 503)):
        start = time.monotonic()
        assert mock.push(subscription).status == status
        assert time.monotonic() - start >= least
    line = mock.log()[-1]
    assert line["not_before_ms"] - line["time_ms"] >= 1200  # the wait begins with the answer


def test_hang_holds_only_its_own_connection(mock):
    subscription = mock.subscribe(plan="hang")
    with pytest.raises(TimeoutError):
        mock.push(subscription, timeout=0.3)
    assert mock.log()[-1]["status"] == "hang"
    assert mock.push(subscription).status == 201


def test_a_bucket_is_shared_and_its_wait_is_honest():
    with Mock("--plan", "bucket:2/s,3") as service:
        some = [service.subscribe() for _ in range(3)]
        answers = [service.push(some[i % 3]) for i in range(5)]
        assert [a.status for a in answers[:3]] == [201] * 3
        late = [a for a in answers if a.status == 429]
        assert late
        assert all(a.headers["Retry-After"] == "1" for a in late)
        time.sleep(1.01)
        assert service.push(some[0]).status == 201


def test_a_share_repeats_with_its_seed():
    def story():
        with Mock("--plan", "40% 503", "--seed", "5") as service:
            subscription = service.subscribe()
            return [service.push(subscription, b"", Content_Encoding=None).status
                    for _ in range(20)]
    once = story()
    assert set(once) == {201, 503}
    assert story() == once


def test_many_at_once():
    with Mock("--plan", "10% 503;5% close") as service:
        some = [service.subscribe() for _ in range(8)]
        body = [pushes.encrypt(subscription, TEXT) for subscription in some]
        authorization = SENDER.authorization(service.url)

        def one(i):
            return outcome(service, some[i % 8], body=body[i % 8], Authorization=authorization)

        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            stories = list(pool.map(one, range(320)))
        lines = service.log()
        assert sorted(map(str, stories)) == sorted(str(line["status"]) for line in lines)
        for subscription in some:
            name = subscription["endpoint"].rsplit("/", 1)[1]
            assert sorted(line["n"] for line in lines if line["subscription"] == name) == \
                list(range(1, 41))


def test_L1_no_token_and_no_key_is_in_the_log(tmp_path):
    path = tmp_path / "log"
    with Mock("--log", str(path)) as service:
        subscription = service.subscribe(applicationServerKey=SENDER.public)
        authorization = SENDER.authorization(service.url)
        for changes in ({}, {"TTL": None}, {"Authorization": authorization + "x"}):
            service.push(subscription, **{"Authorization": authorization, **changes})
        code, output, error = service.stop()
        text = path.read_text() + output + error
        assert code == 0
        for secret in (SENDER.public, subscription["keys"]["p256dh"], subscription["keys"]["auth"],
                       authorization[8:60], "vapid t="):
            assert secret not in text
