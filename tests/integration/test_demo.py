"""`make demo`, with fewer messages: it adds up, and leaves nothing behind."""

import os
import pathlib
import subprocess

from mocking import PROGRAM, ROOT


def test_the_demo_adds_up(tmp_path):
    done = subprocess.run([ROOT / "scripts" / "demo", "1000"], text=True, capture_output=True, timeout=200,
                          env={**os.environ, "LULL_PROGRAM": PROGRAM, "TMPDIR": str(tmp_path)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "It adds up: 1,000 accepted = " in done.stdout
    assert list(pathlib.Path(tmp_path).iterdir()) == []


def test_the_demo_says_when_there_is_no_program(tmp_path):
    done = subprocess.run([ROOT / "scripts" / "demo", "10"], text=True, capture_output=True, timeout=60,
                          env={**os.environ, "LULL_PROGRAM": "/bin/false", "TMPDIR": str(tmp_path)})
    assert done.returncode == 1
    assert "demo: lull mock did not start" in done.stderr
    assert list(pathlib.Path(tmp_path).iterdir()) == []
