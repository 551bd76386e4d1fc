"""Runs the subcommands that talk to `lull serve`, where none is: what they say to wrong arguments, and
to nobody being there."""

import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("LULL_PROGRAM", str(ROOT / "build" / "lull"))
NOBODY = "http://127.0.0.1:1"  # nothing listens there
SECRET = "hush"  # must be in no output

DONE, FAILED, USAGE, REFUSED, NO_ANSWER = 0, 1, 2, 3, 4


def lull(*arguments, stdin=None, **environment):
    """With no server and no token but those that are given."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("LULL_")}
    done = subprocess.run([PROGRAM, *map(str, arguments)], text=True, capture_output=True, timeout=60,
                          env={**clean, "LULL_SERVER": NOBODY, **environment},
                          **({"input": stdin} if stdin is not None else
                             {"stdin": subprocess.DEVNULL}))
    assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr
    assert SECRET not in done.stdout + done.stderr, done
    return done


def check_refused(done, part, command):
    """Exit code 2, nothing on standard output, and a sentence with this part."""
    assert (done.returncode, done.stdout) == (USAGE, ""), done
    assert part in done.stderr, done.stderr
    assert f"Try 'lull help {command}'." in done.stderr


def check_flags(command):
    """Help, man page and completion know the same flags."""
    text = lull("help", command).stdout
    man = (ROOT / "docs" / "man" / f"lull-{command}.1").read_text().replace("\\-", "-")
    completion = (ROOT / "completions" / "lull.bash").read_text().split(f"== {command} ]]", 1)[1]
    completion = re.split(r"elif \[\[ \$\{COMP_WORDS\[1\]\} == (?!" + command + ")", completion)[0]
    flags = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)) - {"--help"}
    assert len(flags) > 5
    for flag in flags:
        assert flag in man, flag
        assert flag in completion, flag
    for status in re.findall(r"(?<!\S)(\d) [a-z]", text.split("Exit status: ", 1)[1]):
        assert f".B {status}\n" in man, status
