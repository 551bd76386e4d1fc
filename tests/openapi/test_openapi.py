"""docs/openapi.yaml: what others' checkers say of it, whether it is what the code says, and whether a real
`lull serve` keeps to it, seen by Prism between client and server."""

import http.client
import json
import os
import pathlib
import re
import subprocess
import urllib.parse

import pytest

from mocking import Mock
from prism import BIN, DESCRIPTION, IN_QUIET, ROOT, Prism, is_of_prism
from serving import Serve

HERE = pathlib.Path(__file__).resolve().parent
TIMEOUT_S = 120
TOKEN = "a-secret-of-the-tests"


def run(*command):
    done = subprocess.run([str(c) for c in command], text=True, capture_output=True, timeout=TIMEOUT_S,
                          env={**os.environ, **IN_QUIET})
    return done.returncode, done.stdout + done.stderr


# ---- by itself ----


def test_redocly_finds_nothing():
    code, output = run(BIN / "redocly", "lint", "--config", HERE / "redocly.yaml", "--format", "json", DESCRIPTION)
    report = json.loads(output[output.index("{\n"):output.rindex("}") + 1])
    assert report["problems"] == []
    assert code == 0


def test_spectral_finds_nothing():
    code, output = run(BIN / "spectral", "lint", "--fail-severity=hint", "--ruleset", HERE / "spectral.yaml",
                       DESCRIPTION)
    assert code == 0, output
    assert "No results" in output


# ---- against the code ----


def words_of(path, pattern):
    return set(re.findall(pattern, (ROOT / path).read_text()))


def test_it_has_each_path_and_method_of_the_router():
    text = DESCRIPTION.read_text()
    described = set()
    for path, body in re.findall(r"^  (/\S*):\n((?:    .*\n|\n)+)", text, re.MULTILINE):
        for method in re.findall(r"^    (get|post|delete|put|patch):$", body, re.MULTILINE):
            described.add((path, method.upper()))
    rows = words_of("src/server/route.c", r'\{(MESSAGES|"[^"]*")( "[^"]*")?, "([A-Z]+)", ROUTE_')
    routed = {(first.strip('"').replace("MESSAGES", "/v1/messages") + rest.strip().strip('"'), method)
              for first, rest, method in rows}
    assert len(routed) == 10
    assert described == routed


def test_it_has_each_kind_of_problem():
    described = words_of("docs/openapi.yaml", r"- urn:lull:problem:([a-z-]+)")
    assert described == words_of("src/server/problem.c", r'\{\d{3}, "([a-z-]+)"')


# ---- against a running server ----


class Client:
    """Asks through the proxy; every answer must be the server's, not Prism's."""

    def __init__(self, proxy):
        self.port = urllib.parse.urlsplit(proxy.url).port

    def ask(self, method, path, body=None, status=200, media_type="application/json", **headers):
        given = {"Authorization": f"Bearer {TOKEN}", **{n.replace("_", "-"): v for n, v in headers.items()}}
        if body is not None:
            given["Content-Type"] = media_type
            body = body if isinstance(body, str) else json.dumps(body)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        try:
            connection.request(method, path, body, given)
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        assert not is_of_prism(text), text
        assert answer.status == status, text
        assert answer.headers["X-Request-Id"]
        is_json = answer.headers["Content-Type"] in ("application/json", "application/problem+json")
        return json.loads(text) if is_json else text


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A server, a target, and Prism in front."""
    folder = tmp_path_factory.mktemp("openapi")
    tokens = folder / "tokens"
    tokens.write_text(f"tests: {TOKEN}\n")
    tokens.chmod(0o600)
    mock = Mock(folder)
    with Serve(folder, "--token-file", tokens, "--push-policy", "delivery base=20ms cap=50ms", token=TOKEN) as serve, \
            Prism(serve.url) as proxy:
        yield serve, mock, Client(proxy)
    mock.stop()


def test_a_message_from_its_beginning_to_its_end(world):
    serve, mock, client = world
    accepted = client.ask("POST", "/v1/messages", {"subscription": mock.subscription(), "body": "hello", "ttl": 60,
                                                   "urgency": "high", "topic": "t1", "padding": "random"}, status=202)
    serve.wait_for(accepted["id"])
    shown = client.ask("GET", f"/v1/messages/{accepted['id']}")
    assert shown["state"] == "delivered"
    client.ask("DELETE", f"/v1/messages/{accepted['id']}", status=409)


def test_messages_that_wait_are_dead_or_cancelled(world):
    serve, mock, client = world
    delayed = client.ask("POST", "/v1/messages", {"subscription": mock.subscription(), "body": "later",
                                                  "delay": 3600}, status=202)["id"]
    assert client.ask("GET", f"/v1/messages/{delayed}")["waiting_for"]["cause"] == "delayed"
    gone = client.ask("POST", "/v1/messages", {"subscription": mock.subscription("410"), "body": "x"}, status=202)["id"]
    serve.wait_for(gone)
    assert client.ask("GET", f"/v1/messages/{gone}")["reason"] == "gone"
    tried = client.ask("POST", "/v1/messages", {"subscription": mock.subscription("503;429:3600"), "body": "x"},
                       status=202)["id"]
    serve.wait_until(lambda: len(serve.message(tried).get("attempts", [])) >= 2, "two attempts")
    assert client.ask("GET", f"/v1/messages/{tried}")["state"] == "waiting"
    page = client.ask("GET", "/v1/messages?limit=2&state=waiting")
    assert {m["id"] for m in page["messages"]} == {delayed, tried}
    assert client.ask("GET", "/v1/messages?limit=1")["next"]
    assert client.ask("DELETE", f"/v1/messages/{delayed}")["reason"] == "cancelled"
    client.ask("GET", f"/v1/messages/{delayed}")


def test_a_newer_message_of_a_topic_replaces_one_that_waits(world):
    _, mock, client = world
    message = {"subscription": mock.subscription(), "body": "1", "topic": "score", "delay": 3600}
    first = client.ask("POST", "/v1/messages", message, status=202)["id"]
    second = client.ask("POST", "/v1/messages", {**message, "body": "2"}, status=202)
    assert second["replaced"] == first
    assert client.ask("GET", f"/v1/messages/{first}")["replaced_by"] == second["id"]


def test_idempotency_keys(world):
    _, mock, client = world
    message = {"webhook": {"url": f"{mock.url}/nowhere", "method": "PUT", "headers": {"X-A": "b"}}, "json": {"n": 1},
               "policy": "webhook retries=0"}
    first = client.ask("POST", "/v1/messages", message, status=202, Idempotency_Key="k-1")
    again = client.ask("POST", "/v1/messages", message, status=202, Idempotency_Key="k-1")
    assert again["id"] == first["id"]
    client.ask("POST", "/v1/messages", {**message, "json": 2}, status=422, Idempotency_Key="k-1")


def test_a_batch(world):
    serve, mock, client = world
    line = json.dumps({"subscription": mock.subscription(), "body": "x"})
    text = client.ask("POST", "/v1/messages/batch", f"{line}\nbroken\n\n{line}\n", media_type="application/x-ndjson",
                      Idempotency_Key="b-1", traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
    results = [json.loads(result) for result in text.splitlines()]
    assert [(r["line"], r["status"]) for r in results] == [(1, 202), (2, 400), (4, 202)]
    for result in results[::2]:
        assert serve.wait_for(result["id"])["state"] == "delivered"


def test_prism_is_awake(world):
    """It does find what does not fit."""
    serve, _, _ = world
    with Prism(serve.url) as proxy:
        with pytest.raises(AssertionError, match="stoplight.io"):
            Client(proxy).ask("POST", "/v1/messages", {"colour": 1})


def test_how_the_server_is(world):
    serve, _, client = world
    assert client.ask("GET", "/v1/status")["version"]
    assert client.ask("GET", "/healthz") == {"status": "alive"}
    assert client.ask("GET", "/readyz") == {"status": "ready"}
    assert "lull_" in client.ask("GET", "/metrics")
    assert client.ask("GET", "/openapi.yaml") == DESCRIPTION.read_text()
    assert serve.get("/openapi.yaml").body == DESCRIPTION.read_bytes()


def test_what_is_refused_is_refused_as_described(world):
    """What Prism lets through; what it would refuse itself is asked in tests/server/test_api.c."""
    _, mock, client = world
    client.ask("GET", "/v1/messages/0000000000001", status=404)
    client.ask("DELETE", "/v1/messages/0000000000001", status=404)
    client.ask("GET", "/healthz?colour=red", status=400)
    client.ask("GET", "/v1/status", status=401, Authorization="Bearer nobody-has-this-one")
    client.ask("POST", "/v1/messages", {"subscription": mock.subscription(), "body": "x", "policy": "nonsense"},
               status=400)
    client.ask("POST", "/v1/messages", {"subscription": mock.subscription(), "body": "x" * 5000}, status=413)
