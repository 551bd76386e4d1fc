"""`lull status`, its flags. What the server answers is in tests/integration."""

import pytest

from api_usage import NO_ANSWER, check_refused, lull

WRONG = [
    # arguments, what the message must name
    (("hush",), "takes options only"),
    (("--watch=0",), "--watch must be seconds, more than 0"),
    (("--watch=often",), "--watch must be seconds"),
    (("--watch", "--count", "0"), "--count must be a whole number from 1"),
    (("--count", "5"), "--count goes with --watch"),
]


@pytest.mark.parametrize("arguments,part", WRONG, ids=[" ".join(a) for a, _ in WRONG])
def test_wrong_arguments_are_refused_with_a_sentence(arguments, part):
    check_refused(lull("status", *arguments), part, "status")


def test_watching_asks_again_where_nobody_is():
    done = lull("status", "--watch=0.01", "--count", "3", "--retries", "0")
    assert (done.returncode, done.stdout.strip()) == (NO_ANSWER, "")
    assert done.stderr.count("no answer from") == 3
