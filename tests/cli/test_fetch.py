"""`lull fetch`, its flags: what is accepted, what is refused and how. The network's side of it is in
tests/integration."""

import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("LULL_PROGRAM", str(ROOT / "build" / "lull"))
NOBODY = "http://127.0.0.1:1/secret-path?token=hush"  # nothing listens there


def fetch(*arguments, **options):
    return subprocess.run([PROGRAM, "fetch", *arguments], text=True, capture_output=True,
                          timeout=30, **options)


WRONG = [
    # arguments, what the message must name
    ([], "needs a URL"),
    (["--bogus", NOBODY], "--bogus"),
    (["-Z", NOBODY], "-Z"),
    (["--retries", "x", NOBODY], "--retries must be a whole number from 0 to 1000"),
    (["--retries", "1001", NOBODY], "--retries"),
    (["--retries"], "--retries needs a value"),
    (["--json=yes", NOBODY], "--json takes no value"),
    (["--deadline", "0", NOBODY], "--deadline must be seconds, more than 0"),
    (["-m", "1h", NOBODY], "--max-time"),
    (["--connect-timeout", "-1", NOBODY], "--connect-timeout"),
    (["--parallel", "0", NOBODY], "--parallel"),
    (["--budget", "much", NOBODY], "--budget must be a share like 20%, tokens or none"),
    (["--budget", "101%", NOBODY], "--budget"),
    (["--policy", "client retries=x", NOBODY], "--policy: at character 16"),
    (["--policy", "retries=x", NOBODY], "--policy: at character 9"),
    (["--policy", "nobody", NOBODY], "--policy: at character 1"),
    (["-H", "no colon", NOBODY], "--header must be"),
    (["-H", "a: b\r\nc: d", NOBODY], "--header must be"),
    (["-X", "GE T", NOBODY], "--request must be"),
    (["--idempotency-key=", NOBODY], "--idempotency-key must not be empty"),
    (["--incoming-attempt", "0", NOBODY], "--incoming-attempt"),
    (["-d", "@/nonexistent", NOBODY], "/nonexistent"),
    (["-T", "/nonexistent", NOBODY], "/nonexistent"),
    (["-T", "/etc/hostname", "-d", "x", NOBODY], "do not go together"),
    (["-I", "-d", "x", NOBODY], "do not go together"),
    (["-o", "a", "-o", "b", NOBODY], "--output is given more often"),
]


@pytest.mark.parametrize("arguments,part", WRONG, ids=[" ".join(a)[:40] for a, _ in WRONG])
def test_wrong_arguments_are_refused_with_a_sentence(arguments, part):
    done = fetch(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert part in done.stderr
    assert "lull help fetch" in done.stderr
    assert "hush" not in done.stderr and "secret" not in done.stderr


def test_help_names_every_flag_and_exit_status():
    done = fetch("--help")
    assert done.returncode == 0
    assert done.stdout == subprocess.run([PROGRAM, "help", "fetch"], text=True,
                                         capture_output=True).stdout
    for flag in ("--request", "--data-binary", "--idempotency-key", "--deadline", "--budget",
                 "--hedge", "--parallel", "--explain", "--json", "Exit status"):
        assert flag in done.stdout, flag


def test_H2_no_message_and_no_report_has_a_url_a_key_or_a_body():
    done = fetch("--json", "--explain", "-d", "payload-hush", "--idempotency-key=key-hush", "-u",
                 "me:password-hush", "--retries", "1", NOBODY)
    assert done.returncode == 4
    report = json.loads(done.stdout)
    assert report["exit"] == 4
    assert report["reason"] == "max_attempts_exceeded"
    assert [a["transport"] for a in report["attempts"]] == ["refused", "refused"]
    assert report["attempts"][0]["effect"] == "not_sent"
    assert "hush" not in done.stdout + done.stderr
    assert "secret" not in done.stdout + done.stderr


def test_C9_a_post_that_was_never_sent_is_repeated_without_a_key():
    report = json.loads(fetch("--json", "-d", "x", "--retries", "2", NOBODY).stdout)
    assert len(report["attempts"]) == 3


def test_B5_each_wait_is_within_the_policy():
    report = json.loads(fetch("--json", "--policy", "base=40ms floor=20ms cap=80ms", "--retries",
                              "3", NOBODY).stdout)
    waits = [a["delay_ms"] for a in report["attempts"]]
    assert all(20 <= wait <= limit for wait, limit in zip(waits, (40, 80, 80)))
    assert waits[3] == 0


def test_B5_a_wait_past_the_deadline_is_not_begun():
    done = fetch("--json", "--policy", "strategy=fixed base=5s cap=5s", "--deadline", "1", NOBODY)
    report = json.loads(done.stdout)
    assert done.returncode == 4
    assert report["reason"] == "deadline_exceeded"
    assert len(report["attempts"]) == 1
    assert report["duration_ms"] < 1000


def test_G7_an_inner_layer_leaves_the_retrying_to_the_outer():
    report = json.loads(fetch("--json", "--incoming-attempt", "2", NOBODY).stdout)
    assert report["reason"] == "outer_retries"
    assert len(report["attempts"]) == 1


def test_S6_nothing_under_invalid_is_ever_asked():
    done = fetch("--json", "http://push.example.invalid/x")
    report = json.loads(done.stdout)
    assert done.returncode == 6
    assert report["attempts"] == []
    assert report["reason"] == "gone"


@pytest.mark.parametrize("url", ["http://[bad", "ftp://127.0.0.1/", "http://127.0.0.1:99999/"])
def test_C4_a_url_that_cannot_be_is_no_target(url):
    done = fetch("--json", url)
    assert done.returncode == 6
    assert json.loads(done.stdout)["reason"] == "invalid_target"


def test_silent_says_nothing_and_show_error_does():
    assert fetch("-s", "--retries", "0", NOBODY).stderr == ""
    assert "max_attempts_exceeded" in fetch("-s", "-S", "--retries", "0", NOBODY).stderr


def test_of_several_urls_the_first_failure_counts():
    done = fetch("-s", "--retries", "0", "--parallel", "2", "http://a.invalid/", NOBODY)
    assert done.returncode == 6
