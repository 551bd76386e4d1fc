"""Lull and what others wrote, on the same messages: http_ece, web-push, standardwebhooks and
web-push-testing, from npm, each at the exact version in package.json.

The messages are made and read in interop.js, which talks to the library through webpush_peer. A
check there fails at the first thing that is wrong; what it counted is asserted here.
"""

import base64
import json
import os
import pathlib
import subprocess
import time
import urllib.request

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HERE = ROOT / "tests" / "interop"
PROGRAM = os.environ.get("LULL_PROGRAM", str(ROOT / "build-test" / "lull"))
PEER = os.environ.get("LULL_PEER", str(ROOT / "build-test" / "tests" / "webpush_peer"))
SUBJECT = "mailto:push@example.com"
TEXTS = {"short": "hello", "unicode": "Grüße, 世界 👋", "json": '{"title": "a", "n": [1, 2]}',
         "longest": "x" * 3993}
TIMEOUT_S = 120


def check(name):
    """Runs one check of interop.js and returns what it counted."""
    done = subprocess.run(["node", str(HERE / "interop.js"), name], text=True, capture_output=True,
                          timeout=TIMEOUT_S, env={**os.environ, "LULL_PEER": PEER})
    print(done.stderr)  # the seed, shown if the test fails
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def peer(name, **fields):
    """One question to the library."""
    done = subprocess.run([PEER], input=json.dumps({"do": name, **fields}) + "\n", text=True,
                          capture_output=True, timeout=TIMEOUT_S, check=True)
    return json.loads(done.stdout)


# ---- encryption (W1) ----

@pytest.fixture(scope="module")
def encrypted():
    return check("encryptForHttpEce")


def test_W1_http_ece_reads_what_lull_encrypts(encrypted):
    assert encrypted["messages"] == 1000
    assert (encrypted["shortest"], encrypted["longest"]) == (0, 3993)


def test_W1_every_message_has_a_salt_of_its_own(encrypted):
    assert encrypted["salts"] == 1000


def test_W1_every_message_has_a_key_of_its_own(encrypted):
    assert encrypted["keys"] == 1000


@pytest.mark.parametrize("sender", ["HttpEce", "WebPush"])
def test_W1_lull_reads_what_others_encrypt(sender):
    """And refuses each when a bit of it is changed, its end is missing, or it is for another."""
    seen = check(f"decryptFrom{sender}")
    assert seen == {"messages": 1000, "refused": 3000, "shortest": 0, "longest": 3993}


def test_W1_a_key_pair_of_lull_is_one_for_others():
    assert check("keypairs") == {"pairs": 100}


def test_W1_W2_lull_reads_whole_requests_of_web_push():
    assert check("wholeRequests") == {"requests": 100}


# ---- VAPID (W2) ----

@pytest.fixture(scope="module")
def tokens_of_web_push():
    return check("verifyTokensOfWebPush")


@pytest.mark.parametrize("what", ["accepted", "changed", "late", "elsewhere"])
def test_W2_lull_verifies_tokens_of_web_push(tokens_of_web_push, what):
    """accepted; and refused with another's key, when its time is over, and at another service."""
    assert tokens_of_web_push[what] == 100


def test_W2_others_verify_tokens_of_lull():
    assert check("readTokensOfLull") == {"tokens": 100}


def test_W2_keys_of_web_push_can_be_imported():
    assert check("importKeysOfWebPush") == {"keys": 200}


def test_W2_keys_can_be_imported_as_web_push_prints_them():
    assert check("importPrintedKeys") == {"keys": 2}


def test_W2_keys_can_be_imported_from_pem_of_node():
    assert check("importPem") == {"keys": 40}


def test_W2_others_read_the_keys_that_lull_exports():
    assert check("exportKeys") == {"keys": 50}


# ---- webhooks (W4) ----

def test_W4_standardwebhooks_verifies_signatures_of_lull():
    """Of each of two secrets; and refuses a body that was changed."""
    seen = check("signWebhooks")
    assert seen["verified"] == seen["refused"] == 200
    assert seen["empty"] >= 1


def test_W4_lull_verifies_signatures_of_standardwebhooks():
    seen = check("verifyWebhooks")
    assert seen["verified"] == seen["refused"] == 200
    assert seen["empty"] >= 1


def test_W4_ed25519_signatures_of_lull_and_node():
    assert check("ed25519Webhooks") == {"verified": 200, "read": 200}


# ---- a push service for practice ----

class PushService:
    """web-push-testing: makes subscriptions, takes messages, and shows what was in them."""

    def __init__(self):
        self.process = subprocess.Popen(["node", str(HERE / "push_service.js")], text=True,
                                        stdout=subprocess.PIPE)
        line = self.process.stdout.readline()
        assert line, "web-push-testing did not start"
        self.url = f"http://localhost:{json.loads(line)['port']}"

    def post(self, path, fields):
        request = urllib.request.Request(self.url + path, json.dumps(fields).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.read()

    def subscribe(self, public_key):
        return json.loads(self.post("/subscribe", {"userVisibleOnly": "true",
                                                   "applicationServerKey": public_key}))["data"]

    def expire(self, subscription):
        self.post("/expire-subscription/" + subscription["clientHash"], {})

    def messages(self, subscription):
        answer = self.post("/get-notifications", {"clientHash": subscription["clientHash"]})
        return json.loads(answer)["data"]["messages"]

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=10)
        self.process.stdout.close()


@pytest.fixture(scope="module")
def service():
    started = PushService()
    yield started
    started.stop()


@pytest.fixture(scope="module")
def key():
    return peer("vapid_new", subject=SUBJECT)


def test_S1_a_subscription_of_web_push_testing_is_read(service, key):
    subscription = service.subscribe(key["public"])
    read = peer("subscription", text=json.dumps(subscription))
    assert read == {"endpoint": subscription["endpoint"], "vendor": "other",
                    "p256dh": subscription["keys"]["p256dh"].rstrip("="),
                    "auth": subscription["keys"]["auth"].rstrip("=")}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_W1_W2_web_push_testing_reads_what_the_library_made(service, key, text):
    """The library's body and token, posted by hand."""
    subscription = service.subscribe(key["public"])
    read = peer("subscription", text=json.dumps(subscription))
    body = peer("encrypt", p256dh=read["p256dh"], auth=read["auth"],
                text=base64.urlsafe_b64encode(text.encode()).decode(), padding=0)["body"]
    token = peer("vapid_authorize", key=key["file"], subject=SUBJECT, endpoint=read["endpoint"],
                 now_ms=int(time.time() * 1000))["header"]
    request = urllib.request.Request(
        read["endpoint"], base64.urlsafe_b64decode(body + "=="),
        {"Authorization": token, "TTL": "60", "Content-Encoding": "aes128gcm",
         "Content-Type": "application/octet-stream"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert answer.status == 201
    assert service.messages(subscription) == [text]


# ---- lull send ----

REFUSED = 3
GONE = 5


class Sender:
    """`lull send` with a subscription and a key in files, as a user has them."""

    def __init__(self, folder, subscription, key):
        self.to = folder / "subscription.json"
        self.to.write_text(json.dumps(subscription))
        self.key = folder / "vapid.json"
        self.key.touch(mode=0o600)
        self.key.write_text(key["file"])

    def send(self, text):
        return subprocess.run([PROGRAM, "send", "--to", str(self.to), "--key", str(self.key),
                               "--allow-private", "--body", text], text=True, capture_output=True,
                              timeout=TIMEOUT_S)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_W1_lull_send_reaches_web_push_testing(service, key, tmp_path, text):
    """It checks the token against the key of the subscription, decrypts, and shows the text."""
    subscription = service.subscribe(key["public"])
    done = Sender(tmp_path, subscription, key).send(text)
    assert done.returncode == 0, done.stderr
    assert service.messages(subscription) == [text]


def test_W1_lull_send_several_messages_in_their_order(service, key, tmp_path):
    subscription = service.subscribe(key["public"])
    sender = Sender(tmp_path, subscription, key)
    assert [sender.send(text).returncode for text in ("one", "two", "three")] == [0, 0, 0]
    assert service.messages(subscription) == ["one", "two", "three"]


def test_S2_lull_send_says_that_a_subscription_is_gone(service, key, tmp_path):
    subscription = service.subscribe(key["public"])
    service.expire(subscription)
    done = Sender(tmp_path, subscription, key).send("too late")
    assert done.returncode == GONE, done.stderr
    assert service.messages(subscription) == []


def test_W2_lull_send_with_another_key_is_refused(service, key, tmp_path):
    subscription = service.subscribe(key["public"])
    done = Sender(tmp_path, subscription, peer("vapid_new", subject=SUBJECT)).send("not mine")
    assert done.returncode == REFUSED, done.stderr
    assert service.messages(subscription) == []
