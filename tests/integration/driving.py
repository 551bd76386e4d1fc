"""Runs transport_drive (tests/http) and holds what it said.

LULL_DRIVE is the one with sanitizers. LULL_DRIVE_FAST is without, for large numbers, and LULL_DRIVE_TSAN
with the one for threads; where these were not built, the first one does.
"""

import json
import os
import pathlib
import subprocess
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("LULL_DRIVE", str(ROOT / "build-test" / "tests" / "transport_drive"))


def or_program(name, build):
    path = os.environ.get(name, str(ROOT / build / "tests" / "transport_drive"))
    return path if os.path.exists(path) else PROGRAM


FAST = or_program("LULL_DRIVE_FAST", "build-fast")
TSAN = or_program("LULL_DRIVE_TSAN", "build-tsan")
TIMEOUT_S = 60


class Outcome(NamedTuple):
    """What one request came to."""

    index: int
    status: int
    transport: str
    effect: str
    detail: str
    protocol: str
    is_body_complete: bool
    is_body_cut: bool
    body_length: int
    received: int
    body: str  # its beginning
    header_count: int
    attempts: int
    submitted_ms: int
    sent_ms: int
    answered_ms: int
    done_ms: int

    @property
    def word(self):
        """The status, or why there is none."""
        return self.status or self.transport


class Driven(NamedTuple):
    outcomes: list  # by index; empty with --quiet
    summary: dict

    @property
    def words(self):
        return [outcome.word for outcome in self.outcomes]

    @property
    def effects(self):
        return [outcome.effect for outcome in self.outcomes]


def start(*arguments, program=PROGRAM):
    return subprocess.Popen([program, *map(str, arguments)], text=True, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process, secrets=(), timeout_s=TIMEOUT_S):
    """Waits for its end. It must have ended well, with each request back exactly once."""
    try:
        stdout, stderr = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    command = " ".join(process.args)
    assert process.returncode == 0 and stderr == "", (process.returncode, stderr[-8000:], command)
    *lines, summary = [json.loads(line) for line in stdout.splitlines()]
    outcomes = sorted(Outcome(**line) for line in lines)
    assert [outcome.index for outcome in outcomes] == list(range(len(outcomes)))
    for outcome in outcomes:
        check_shape(outcome)
        for secret in secrets:  # L1
            assert secret not in outcome.detail, command
    return Driven(outcomes, summary)


def drive(*arguments, program=PROGRAM, secrets=(), timeout_s=TIMEOUT_S):
    return finish(start(*arguments, program=program), secrets, timeout_s)


def check_shape(outcome):
    """What holds for every outcome (C1, C12)."""
    assert (outcome.status == 0) == (outcome.transport != "none"), outcome
    assert (outcome.detail == "") == (outcome.status != 0), outcome
    if outcome.status:
        assert outcome.effect == "refused" and outcome.protocol != "none", outcome
        assert outcome.submitted_ms <= outcome.sent_ms <= outcome.answered_ms <= outcome.done_ms, \
            outcome
    else:
        assert outcome.answered_ms == -1 and outcome.body_length == 0, outcome
    if outcome.effect == "not_sent":
        assert outcome.sent_ms == -1, outcome
