"""`lull push`, its flags: what is accepted, what is refused and how. What the server makes of it is in
tests/integration."""

import json

import pytest

import pushes
from api_usage import NO_ANSWER, check_refused, lull

URL = "https://example.org/hush-path"
ENDPOINT = "https://push.example.org/hush-endpoint"


@pytest.fixture(scope="module")
def subscription(tmp_path_factory):
    path = tmp_path_factory.mktemp("push") / "sub.json"
    keys = {"p256dh": pushes.encode(pushes.point_bytes(pushes.G)), "auth": pushes.encode(bytes(16))}
    path.write_text(json.dumps({"endpoint": ENDPOINT, "keys": keys}))
    return path


WEBHOOK = ("--webhook", URL)
WRONG = [
    # arguments, what the message must name
    ((), "needs one of --to, --webhook and --batch"),
    ((*WEBHOOK, "--batch", "-"), "needs one of --to, --webhook and --batch"),
    ((*WEBHOOK, "hush"), "there is an argument too many"),
    ((*WEBHOOK, "--padding", "5", "--body", "x"), "--padding is of a push, not of a --webhook"),
    ((*WEBHOOK, "--key", "abc"), "--key is of a push, not of a --webhook"),
    ((*WEBHOOK, "--chunk", "5"), "--chunk is of a --batch"),
    ((*WEBHOOK, "--ttl", "2419201"), "--ttl must be a whole number from 0 to 2419200"),
    ((*WEBHOOK, "--delay", "x"), "--delay must be a whole number from 0 to 2419200"),
    ((*WEBHOOK, "--at", "2026-01-31T09:00:00Z", "--delay", "5"), "--at and --delay do not go"),
    ((*WEBHOOK, "--urgency", "asap"), "--urgency must be very-low, low, normal or high"),
    ((*WEBHOOK, "--topic", "a b"), "--topic must be 1 to 32 characters"),
    ((*WEBHOOK, "--topic", "x" * 33), "--topic must be 1 to 32 characters"),
    ((*WEBHOOK, "--header", "hush"), "--header must be 'NAME: VALUE'"),
    ((*WEBHOOK, "--header", "A: b\r\nC: hush"), "--header must be 'NAME: VALUE'"),
    ((*WEBHOOK, "--header", "A: b", "--header", "A: c"), "--header A is given twice"),
    ((*WEBHOOK, "--correlation-id", ""), "--correlation-id must be 1 to 128 printable ASCII"),
    ((*WEBHOOK, "--correlation-id", "x" * 129), "--correlation-id must be"),
    ((*WEBHOOK, "--idempotency-key", "a\nhush"), "--idempotency-key must be 1 to 256 printable"),
    ((*WEBHOOK, "--idempotency-key", "x" * 257), "--idempotency-key must be"),
    ((*WEBHOOK, "--wait=0"), "--wait must be seconds, more than 0"),
    ((*WEBHOOK, "--body", "@/nonexistent"), "the body cannot be read: No such file"),
    ((*WEBHOOK, "--body", "x", "--body-json", "1"), "--body and --body-json do not go together"),
    ((*WEBHOOK, "--body-json", '{"a": hush}'), "--body-json is no JSON: at line 1, column"),
    ((*WEBHOOK, "--body-json", ""), "--body-json is no JSON"),
    (("--batch", "/nonexistent/hush"), "the batch cannot be read: No such file"),
    (("--batch", "-", "--ttl", "5"), "--ttl is of one message"),
    (("--batch", "-", "--sign", "x"), "--sign is of one message"),
    (("--batch", "-", "--wait"), "--wait is of one message"),
    (("--batch", "-", "--chunk", "0"), "--chunk must be a whole number from 1 to 100000"),
    (("--batch", "-", "--idempotency-key", "x" * 201), "of a --batch has at most 200"),
    (("--to", "/nonexistent/hush"), "the subscription cannot be read: No such file"),
    (("--to", "-", "--body", "-"), "--to and the body cannot both be standard input"),
]


@pytest.mark.parametrize("arguments,part", WRONG, ids=[" ".join(a)[:50] for a, _ in WRONG])
def test_wrong_arguments_are_refused_with_a_sentence(arguments, part):
    check_refused(lull("push", *arguments), part, "push")


WRONG_OF_PUSHES = [
    (("--method", "PUT"), "--method is of a --webhook, not of a push"),
    (("--header", "A: b"), "--header is of a --webhook, not of a push"),
    (("--content-type", "text/plain"), "--content-type is of a --webhook"),
    (("--sign", "shop"), "--sign is of a --webhook"),
    (("--padding", "5"), "--padding needs a body"),
    (("--padding", "3994", "--body", "x"), "--padding must be a whole number from 0 to 3993"),
    (("--padding", "3993", "--body", "x"), "have 3994 bytes, at most 3993 fit"),
    (("--body", "x" * 3994), "--body has 3994 bytes, at most 3993 fit"),
]


@pytest.mark.parametrize("arguments,part", WRONG_OF_PUSHES,
                         ids=[" ".join(a)[:50] for a, _ in WRONG_OF_PUSHES])
def test_wrong_arguments_of_a_push(arguments, part, subscription):
    check_refused(lull("push", "--to", subscription, *arguments), part, "push")


@pytest.mark.parametrize("text,part", [("hush", "--to: "), ("{}", "endpoint"),
                                       ('{"endpoint": "https://x.example/hush"}', "keys")])
def test_S3_a_subscription_that_cannot_be_sent_to(text, part):
    check_refused(lull("push", "--to", "-", stdin=text), part, "push")


def test_pad_is_as_good_as_padding(subscription):
    """as `lull send` calls it"""
    done = lull("push", "--to", subscription, "--pad", "3994", "--body", "x")
    check_refused(done, "--padding must be", "push")


GOOD = [
    (*WEBHOOK, "--body", "hush", "--header", "Authorization: hush", "--method", "PUT"),
    (*WEBHOOK, "--body-json", '"hush"', "--idempotency-key", "hush", "--content-type", "a/b"),
    (*WEBHOOK, "--idempotency-key=auto", "--at", "2026-01-31T09:00:00Z", "--wait=5"),
]


@pytest.mark.parametrize("arguments", GOOD, ids=[" ".join(a)[:50] for a in GOOD])
def test_no_endpoint_body_header_or_key_is_in_any_output(arguments):
    done = lull("push", *arguments, "--retries", "1")
    assert (done.returncode, done.stdout) == (NO_ANSWER, "")


def test_a_batch_that_nobody_takes_says_how_to_go_on(tmp_path):
    batch = tmp_path / "batch"
    batch.write_text('\n{"body":"hush"}\n{"body":"hush"}\n')
    done = lull("push", "--batch", batch, "--retries", "0")
    assert (done.returncode, done.stdout) == (NO_ANSWER, "")
    assert "stopped in the chunk that begins at line 2" in done.stderr
    assert "with --idempotency-key " in done.stderr
    assert "0 accepted, 0 refused, 2 not taken" in done.stderr


def test_a_batch_with_a_key_of_the_users_does_not_repeat_it():
    done = lull("push", "--batch", "-", "--retries", "0", "--idempotency-key", "hush", stdin="{}\n")
    assert done.returncode == NO_ANSWER
    assert "the same command again takes up from there" in done.stderr


@pytest.mark.parametrize("text", ["", "\n \n\t\n"])
def test_an_empty_batch_is_accepted_without_a_request(text):
    done = lull("push", "--batch", "-", "--json", stdin=text)
    assert done.returncode == 0
    assert json.loads(done.stdout) == {"accepted": 0, "refused": 0, "left": 0, "repeated": 0,
                                       "exit": 0}


def test_quiet_says_only_what_went_wrong():
    assert lull("push", "--batch", "-", "-q", stdin="").stderr == ""
    done = lull("push", *WEBHOOK, "--quiet", "--retries", "1")
    assert "again in" not in done.stderr and "no answer from" in done.stderr
