"""No endpoint, key, token or body comes out of the server but to its target: not in logs at any level,
answers, metrics or the report of a crash (L1); and the text of a push is not on the disk either."""

import json
import signal

import pytest

from mocking import Mock
from scripted import Scripted, answer, close, hang, reset
from serving import Serve

# Each is one word that stands nowhere else.
PATH, QUERY, USER = "SecretPathQ7x", "SecretQueryZ3k", "SecretUserP9m"
HEADER, BODY, PUSH_TEXT = "SecretHeaderW2v", "SecretBodyL5n", "SecretPushTextH8j"
TOKEN, WRONG_TOKEN = "SecretTokenR4t0123456789", "SecretWrongTokenB6y0123456789"
KEY, MISPLACED = "SecretIdempotencyC1d", "SecretMisplacedF3g"
SIGNER = "whsec_U2VjcmV0U2lnbmVyVDdoU2VjcmV0U2lnbmVyVDdo"
WORDS = (PATH, QUERY, USER, HEADER, BODY, PUSH_TEXT, TOKEN, WRONG_TOKEN, KEY, MISPLACED, SIGNER[6:20])

FAST = "webhook base=10ms cap=50ms retries=2 floor=0 throttle-min=10ms"
PATHS = ("/v1/status", "/metrics", "/healthz", "/readyz", "/v1/messages?limit=1000", "/v1/nothing",
         f"/v1/messages/{MISPLACED}", f"/{MISPLACED}", f"/v1/messages?state={MISPLACED}",
         f"/v1/messages?{MISPLACED}=1", f"/v1/messages?cursor={MISPLACED}")


def broken_requests(good):
    """What is refused, with secrets at places where they should not be. Not among them are the names of
    members and of policies: those are said back, so that a slip of the pen can be found."""
    webhook = good["webhook"]
    yield {**good, "unknown": MISPLACED}
    yield {**good, "urgency": MISPLACED}
    yield {**good, "ttl": MISPLACED}
    yield {**good, "at": MISPLACED}
    yield {**good, "body_base64": MISPLACED}
    yield {**good, "topic": MISPLACED * 5}
    yield {**good, "webhook": {**webhook, "sign": MISPLACED}}
    yield {**good, "webhook": {**webhook, "url": f"ftp://{USER}:{USER}@x/{PATH}"}}
    yield {**good, "webhook": {**webhook, "url": f"http://{USER}:{USER}@127.0.0.1/{PATH}"}}
    yield {**good, "webhook": {**webhook, "url": f"http://[::zz]/{PATH}"}}
    yield {**good, "webhook": {**webhook, "url": f"http://{PATH.lower()}.invalid/{PATH}"}}
    yield {**good, "webhook": {**webhook, "headers": {f"{HEADER}:": HEADER}}}
    yield {**good, "webhook": {**webhook, "headers": {"X": f"{HEADER}\r\nY: z"}}}
    yield {**good, "subscription": {"endpoint": f"https://example.org/{PATH}", "keys": {
        "p256dh": MISPLACED, "auth": MISPLACED}}, "webhook": None}
    yield json.dumps(good)[:-10]
    yield f'{{"{MISPLACED}": tru'
    yield MISPLACED


class Told:
    """All that a server has said."""

    def __init__(self):
        self.parts = []

    def add(self, answer):
        self.parts.append(f"{answer.status} {answer.headers} {answer.body.decode(errors='replace')}")
        return answer

    def check(self, secrets):
        for part in self.parts:
            for secret in secrets:
                assert secret not in part, f"{secret} in: {part[:2000]}"


@pytest.fixture
def target():
    server = Scripted()
    yield server
    server.stop()


def keys_of(subscription):
    return [subscription["keys"]["p256dh"], subscription["keys"]["auth"],
            subscription["endpoint"].rpartition("/")[2]]


@pytest.mark.parametrize("form", ["json", "text"])
def test_nothing_secret_comes_out(tmp_path, target, form):
    (tmp_path / "mock").mkdir()
    mock = Mock(tmp_path / "mock")
    (tmp_path / "tokens").write_text(f"someone: {TOKEN}\n")
    (tmp_path / "signer").write_text(SIGNER + "\n")
    for name in ("tokens", "signer"):
        (tmp_path / name).chmod(0o600)
    (tmp_path / "lull.conf").write_text(f'webhook_secret "mine" {{ file = "{tmp_path / "signer"}" }}\n')
    subscriptions = [mock.subscription(plan) for plan in
                     ("201", "503*", "reset*", "410*", "429=\"x\"*", "413*", "401*", "half*")]
    steps = [answer(201), answer(500, [("Retry-After", "x")], BODY.encode()), reset(), close(), answer(403),
             answer(302, [("Location", f"http://127.0.0.1/{PATH}")]), answer(429), answer(410),
             hang(2), answer(503, [("Retry-After", "99999999")])]
    told = Told()
    serve = Serve(tmp_path, "--config", tmp_path / "lull.conf", "--token-file", tmp_path / "tokens",
                  "--log-level", "debug", "--log-format", form, "--first-byte-timeout", "500ms",
                  "--connect-timeout", "500ms", token=TOKEN)
    serve.start()
    names = []
    for i, step in enumerate(steps):
        target.script(f"/{PATH}/{i}?q={QUERY}", step)
        names.append(told.add(serve.post("/v1/messages", {
            "webhook": {"url": f"http://127.0.0.1:{target.port}/{PATH}/{i}?q={QUERY}", "sign": "mine",
                        "headers": {"Authorization": HEADER}},
            "body": BODY, "policy": FAST}, Idempotency_Key=f"{KEY}{i}")).json["id"])
    for url in (f"http://127.0.0.1:1/{PATH}", f"https://127.0.0.1:{target.port}/{PATH}"):
        names.append(told.add(serve.post("/v1/messages", {"webhook": {"url": url}, "json": {BODY: BODY},
                                                          "policy": FAST})).json["id"])
    for subscription in subscriptions:
        names.append(told.add(serve.post("/v1/messages", {
            "subscription": subscription, "body": PUSH_TEXT,
            "policy": "delivery base=10ms cap=50ms retries=2 throttle-min=10ms"})).json["id"])
    kept = told.add(serve.post("/v1/messages", {"subscription": subscriptions[0], "body": PUSH_TEXT,
                                                "delay": 3600})).json["id"]
    good = {"webhook": {"url": f"http://127.0.0.1:{target.port}/{PATH}"}, "body": BODY}
    for bad in broken_requests(good):
        text = bad if isinstance(bad, str) else json.dumps(bad)
        assert told.add(serve.post("/v1/messages", text, Content_Type="application/json")).status == 400
        told.add(serve.post("/v1/messages/batch", text + "\n", Content_Type="application/x-ndjson"))
    reused = told.add(serve.post("/v1/messages", {**good, "body": BODY + "2"}, Idempotency_Key=f"{KEY}0"))
    assert reused.status == 422
    assert told.add(serve.get("/v1/status", Authorization=f"Bearer {WRONG_TOKEN}")).status == 401
    assert told.add(serve.get("/v1/status", Authorization=f"Basic {WRONG_TOKEN}")).status == 401
    for name in names:
        told.add(serve.get(f"/v1/messages/{name}"))
        serve.wait_for(name)
        told.add(serve.get(f"/v1/messages/{name}"))
    for path in PATHS:
        told.add(serve.get(path))
    told.add(serve.delete(f"/v1/messages/{kept}"))

    everything = tmp_path.glob("lull.db*")
    for path in everything:
        assert path.stat().st_mode & 0o077 == 0, path
        assert PUSH_TEXT.encode() not in path.read_bytes(), path
        assert TOKEN.encode() not in path.read_bytes() and SIGNER[6:].encode() not in path.read_bytes()
    serve.signal(signal.SIGABRT)  # a crash
    assert serve.wait_for_end() != 0
    told.parts.append(serve.output())
    private = json.loads((tmp_path / "vapid.json").read_text())
    secrets = [*WORDS, private["d"]]
    for subscription in subscriptions:
        secrets += keys_of(subscription)
    # What was asked for by a path of its own is in no answer but by the name of the path.
    told.check(secrets)
    assert f"127.0.0.1:{target.port}/" not in serve.output()
    mock.stop()
