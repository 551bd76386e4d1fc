"""Runs `lull fetch --json` and holds what it said."""

import json
import os
import pathlib
import subprocess
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("LULL_PROGRAM", str(ROOT / "build" / "lull"))
TIMEOUT_S = 60


class Fetched(NamedTuple):
    exit: int
    answers: list
    stderr: str
    input: object = None

    @property
    def answer(self):
        assert len(self.answers) == 1, self
        return self.answers[0]

    @property
    def attempts(self):
        return self.answer["attempts"]


def fetch(*arguments, stdin=None):
    done = subprocess.run([PROGRAM, "fetch", "--json", *map(str, arguments)], text=True,
                          capture_output=True, timeout=TIMEOUT_S,
                          **({"input": stdin} if stdin else {"stdin": subprocess.DEVNULL}))
    assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return Fetched(done.returncode, answers, done.stderr)
