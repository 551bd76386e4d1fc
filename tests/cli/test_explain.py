"""`lull explain`, from the outside: the issue's fields, the rules' figures, and bad flags."""

import json
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("LULL_PROGRAM", str(ROOT / "build" / "lull"))
NOW = "1767225600"  # 2026-01-01 00:00:00 UTC


def lull(*arguments):
    return subprocess.run([PROGRAM, *arguments], text=True, capture_output=True, timeout=30)


def explain(*arguments):
    done = lull("explain", "--json", "--now", NOW, *arguments)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1
    return json.loads(done.stdout)


FIELDS = {"verdict", "reason", "class", "delay_min_ms", "delay_max_ms", "delay_ms",
          "retry_after_ms", "retry_after_state", "scope", "effects", "rules"}


def test_the_example_of_the_issue():
    answer = explain("--status", "429", "--header", "Retry-After: 120", "--attempt", "2",
                     "--ttl", "3600", "--policy", "delivery")
    assert FIELDS <= set(answer)
    assert answer["verdict"] == "retry"
    assert answer["class"] == "throttled"
    assert (answer["delay_min_ms"], answer["delay_max_ms"]) == (120000, 132000)
    assert 120000 <= answer["delay_ms"] <= 132000
    assert (answer["retry_after_ms"], answer["retry_after_state"]) == (120000, "ok")
    assert answer["scope"] == "subscription"
    assert answer["effects"] == ["hold"]
    assert "A3" in answer["rules"] and "T2" in answer["rules"]


def test_the_text_tells_each_question_and_the_verdict():
    done = lull("explain", "--status", "429", "--header", "Retry-After: 120", "--attempt", "2",
                "--ttl", "3600", "--policy", "delivery", "--now", NOW, "--seed", "1")
    assert done.returncode == 0
    for part in ("What happened?", "HTTP status: 429", "Retry-After: 2 min", "Is an attempt left?",
                 "Verdict: retry in 2 min", "Reason:  throttled", "Also:    hold", "A3", "T2",
                 "UTC", "seed 1"):
        assert part in done.stdout, part


CASES = [
    # arguments, what must be in the answer
    ("--status 201", dict(verdict="delivered", reason="delivered", delay_ms=0)),
    ("--status 202", dict(verdict="delivered")),
    ("--status 503", dict(verdict="retry", delay_min_ms=0, delay_max_ms=2000)),
    ("--status 503 --attempt 5", dict(delay_max_ms=32000)),
    ("--status 503 --attempt 6", dict(verdict="dead", reason="max_attempts_exceeded")),
    ("--status 503 --attempt 4 --policy client",
     dict(verdict="give_up", reason="max_attempts_exceeded")),
    ("--status 503 --policy client", dict(delay_min_ms=50, delay_max_ms=200)),
    ("--status 400", dict(verdict="dead", reason="rejected", effects=[])),
    ("--status 413", dict(reason="payload_too_large")),
    ("--status 401", dict(reason="auth", effects=["alert"])),
    ("--status 404", dict(reason="gone", effects=["purge"])),
    ("--status 410", dict(reason="gone", effects=["purge"])),
    ("--status 301", dict(verdict="dead", reason="rejected")),
    ("--status 501", dict(verdict="dead", reason="rejected")),
    ("--status 599", dict(verdict="retry")),
    ("--status 429", dict(delay_min_ms=15000, delay_max_ms=17000, retry_after_ms=None,
                          retry_after_state="absent")),
    ("--status 429 --endpoint https://updates.push.services.mozilla.com/wpush/v2/x",
     dict(delay_min_ms=60000, scope="subscription", service="mozilla")),
    ("--status 429 --endpoint https://fcm.googleapis.com/fcm/send/x",
     dict(delay_min_ms=60000, scope="sender", service="fcm")),
    ("--status 500 --endpoint https://fcm.googleapis.com/fcm/send/x", dict(delay_min_ms=10000)),
    ("--status 406 --endpoint https://x.notify.windows.com/w/?token=a", dict(verdict="retry")),
    ("--status 406", dict(verdict="dead")),
    ("--queued --endpoint https://permanently-removed.invalid/x",
     dict(verdict="dead", reason="gone", effects=["purge"])),
    ("--queued", dict(verdict="send")),
    ("--queued --circuit-open", dict(verdict="wait", reason="circuit_open")),
    ("--queued --key-paused", dict(verdict="wait", reason="key_paused")),
    ("--queued --attempt 2 --budget-exhausted", dict(verdict="wait", reason="budget_exhausted")),
    ("--queued --attempt 7", dict(verdict="dead", reason="max_attempts_exceeded")),
    ("--queued --circuit-open --policy client", dict(verdict="give_up", reason="circuit_open")),
    ("--status 401 --key-paused --method POST", dict(verdict="retry", burns_attempt=False)),
    ("--status 500 --policy client --endpoint https://fcm.googleapis.com/x",
     dict(delay_min_ms=50)),
    ("--queued --ttl 60 --age 60", dict(verdict="dead", reason="ttl_expired")),
    ("--status 503 --ttl 0", dict(verdict="dead", reason="ttl_expired_during_backoff")),
    ("--status 503 --ttl 100 --age 99.999 --header Retry-After:1",
     dict(reason="ttl_expired_during_backoff", remaining_ms=1)),
    ("--status 503 --header Retry-After:121 --policy client",
     dict(verdict="give_up", reason="retry_after_too_long")),
    ("--status 503 --header Retry-After:99999999999999999999", dict(verdict="dead")),
    ("--status 503 --header Retry-After:1767225660", dict(retry_after_ms=60000)),
    ("--status 503 --header Retry-After:-1", dict(retry_after_ms=None,
                                                  retry_after_state="malformed")),
    ("--status 503 --header Retry-After:1 --header Retry-After:1",
     dict(retry_after_state="malformed")),
    ("--error refused", dict(verdict="retry", effect="not_sent")),
    ("--error tls", dict(verdict="dead", reason="invalid_target")),
    ("--error cancelled", dict(verdict="dead", reason="cancelled")),
    ("--error timeout --method POST", dict(verdict="dead", reason="not_idempotent",
                                           effect="unknown")),
    ("--error timeout --method POST --idempotency-key k", dict(verdict="retry")),
    ("--error timeout --method POST --repeatable", dict(verdict="retry")),
    ("--error dns --method POST", dict(verdict="retry")),
    ("--error timeout", dict(verdict="retry")),
    ("--error timeout --method POST --policy client", dict(verdict="give_up")),
    ("--status 429 --header Retry-After:0",
     dict({"class": "auth_suspect"}, verdict="retry", effects=["fresh_jwt", "hold",
                                                               "warn_auth_suspect"])),
    ("--status 429 --header Retry-After:0 --auth-retried", dict(verdict="dead", reason="auth")),
    ("--status 503 --policy client --circuit-open", dict(reason="circuit_open")),
    ("--status 503 --policy client --budget-exhausted", dict(reason="budget_exhausted")),
    ("--status 503 --policy client --incoming-attempt 2", dict(reason="outer_retries")),
    ("--status 403 --key-paused --attempt 99", dict(verdict="retry", burns_attempt=False)),
    ("--status 409 --policy delivery,status.409=retry", dict(verdict="retry")),
    ("--status 410 --kind webhook", dict(effects=["disable_target"])),
    ("--status 500 --policy strategy=decorrelated --previous-delay 5",
     dict(delay_min_ms=2000, delay_max_ms=15000)),
    ("--status 429 --sender-throttled", dict(scope="sender", delay_min_ms=60000, hold_ms=60000)),
]


@pytest.mark.parametrize("arguments,expected", CASES, ids=[case[0] for case in CASES])
def test_case(arguments, expected):
    words = []
    for word in arguments.split():
        words.append(word.replace("Retry-After:", "Retry-After: "))
    answer = explain(*words)
    effects = answer.pop("effects")
    wanted = dict(expected)
    if "effects" in wanted:
        assert sorted(effects) == sorted(wanted.pop("effects"))
    assert {name: answer[name] for name in wanted} == wanted
    assert 0 <= answer["delay_min_ms"] <= answer["delay_ms"] <= answer["delay_max_ms"]
    for rule in answer["rules"]:
        assert re.fullmatch(r"[A-Z][0-9]+", rule)


def test_problem_json_body():
    answer = explain("--status", "400", "--header", "Content-Type: application/problem+json",
                     "--body", '{"type":"https://e.x/busy"}', "--policy",
                     "delivery problem.https://e.x/busy=retry")
    assert answer["verdict"] == "retry" and "C10" in answer["rules"]


def test_vendor_body():
    answer = explain("--status", "400", "--endpoint", "https://web.push.apple.com/x", "--body",
                     '{"reason":"BadJwtToken"}')
    assert answer["reason"] == "auth" and "V3" in answer["rules"]


def test_a_date_is_read_against_the_date_header():
    answer = explain("--status", "503", "--header", "Date: Wed, 01 Jan 2025 00:00:00 GMT",
                     "--header", "Retry-After: Wed, 01 Jan 2025 00:01:30 GMT")
    assert answer["retry_after_ms"] == 90000


def test_same_seed_same_draw():
    once = [explain("--status", "503", "--seed", str(seed))["delay_ms"] for seed in range(20)]
    again = [explain("--status", "503", "--seed", str(seed))["delay_ms"] for seed in range(20)]
    assert once == again
    assert len(set(once)) > 15


BAD = [
    [], ["--status"], ["--status", "99"], ["--status", "1000"], ["--status", "abc"],
    ["--status", "200", "--error", "reset"], ["--status", "200", "--queued"],
    ["--error", "bang"], ["--error", "none"], ["--status", "429", "--attempt", "0"],
    ["--status", "429", "--attempt", "-1"], ["--status", "429", "--ttl", "-5"],
    ["--status", "429", "--ttl", "1.2345"], ["--status", "429", "--ttl", "1e3"],
    ["--status", "429", "--ttl", ""], ["--status", "429", "--now", "yesterday"],
    ["--status", "429", "--seed", "x"], ["--status", "429", "--seed", "99999999999999999999"],
    ["--status", "429", "--header", "no colon"], ["--status", "429", "--header", ": x"],
    ["--status", "429", "--header", "a: b\r\nc: d"], ["--status", "429", "--policy", "nope"],
    ["--status", "429", "--policy", "bulk retries=x"], ["--status", "429", "--kind", "letter"],
    ["--status", "429", "--kind", "operation"], ["--status", "429", "--method", "PO ST"],
    ["--status", "429", "--idempotency-key", ""], ["--status", "429", "--endpoint", "example.net"],
    ["--status", "429", "extra"], ["--status", "429", "--no-such"], ["--status", "429", "-x"],
    ["--status", "429", "--json=1"], ["--status", "429", "--incoming-attempt", "zero"],
]


@pytest.mark.parametrize("arguments", BAD, ids=[" ".join(a) or "(none)" for a in BAD])
def test_bad_flags(arguments):
    done = lull("explain", *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("lull explain: ")
    assert "lull help explain" in done.stderr


@pytest.mark.parametrize("arguments", [
    ["--status", "429", "--endpoint", "https://user:SECRET@h/SECRET"],
    ["--status", "429", "--endpoint", "SECRET"],
    ["--status", "429", "--endpoint", "https://h.example/SECRET", "-json"],
    ["--status", "429", "--idempotency-key", "SECRET", "-json"],
    ["--status", "429", "--header", "Authorization: Bearer SECRET", "-xyz"],
    ["--status", "429", "--header", "SECRET"],
    ["--status", "429", "--body", "SECRET", "-vvv"],
    ["--status", "429", "SECRET"],
    ["--status", "429", "--method", "SECRET SECRET"],
    ["--status", "429", "--json=SECRET"],
    ["--status", "429", "--no-such=SECRET"],
])
def test_secrets_are_never_repeated(arguments):
    done = lull("explain", *arguments)
    assert done.returncode == 2
    assert "SECRET" not in done.stdout + done.stderr


def test_secrets_are_not_in_the_answer():
    arguments = ["--status", "410", "--endpoint", "https://h.example/SECRET", "--idempotency-key",
                 "SECRET", "--body", "SECRET", "--header", "Location: SECRET"]
    for extra in ([], ["--json"]):
        done = lull("explain", *arguments, *extra)
        assert done.returncode == 0
        assert "SECRET" not in done.stdout + done.stderr


def test_a_full_disk_is_no_success():
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run([PROGRAM, "explain", "--status", "200"], stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=30)
    assert done.returncode == 1
    assert "could not be written" in done.stderr


def test_help_and_version():
    version = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text()).group(1)
    assert lull("--version").stdout == f"lull {version}\n"
    assert "explain" in lull("--help").stdout
    assert lull("help").stdout == lull("--help").stdout
    assert lull("help", "explain").stdout == lull("explain", "--help").stdout
    for arguments in ([], ["nonsense"], ["help", "nonsense"]):
        done = lull(*arguments)
        assert done.returncode == 2 and done.stdout == "" and done.stderr != ""


def flags_of_help():
    return set(re.findall(r"^  (--[a-z-]+)", lull("help", "explain").stdout, re.MULTILINE))


def test_man_page_completion_and_help_know_the_same_flags():
    flags = flags_of_help()
    assert len(flags) > 20
    man = (ROOT / "docs" / "man" / "lull-explain.1").read_text().replace("\\-", "-")
    completion = (ROOT / "completions" / "lull.bash").read_text()
    for flag in flags:
        assert flag in man, flag
        assert flag in completion, flag


def complete(line):
    script = f"""
        source {ROOT / 'completions' / 'lull.bash'}
        COMP_WORDS=({line}) COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
        _lull; printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", script], text=True, capture_output=True, timeout=30)
    assert done.stderr == ""
    return set(done.stdout.split())


def test_bash_completion():
    assert "explain" in complete("lull ex")
    assert complete("lull explain --pol") == {"--policy"}
    assert "delivery" in complete("lull explain --policy ''")
    assert "refused" in complete("lull explain --error re")
    assert "explain" in complete("lull help ''")
