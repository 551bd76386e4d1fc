"""`lull messages`, its flags. What the server answers is in tests/integration."""

import pytest

from api_usage import NO_ANSWER, check_refused, lull

WRONG = [
    # arguments, what the message must name
    ((), "needs one of list, show and cancel"),
    (("hush",), "needs one of list, show and cancel"),
    (("list", "hush"), "list takes options only"),
    (("list", "--state", "hush"), "--state must be waiting, leased, dead, delivered or replaced"),
    (("list", "--limit", "0"), "--limit must be a whole number from 1"),
    (("list", "--all", "--limit", "5"), "--all and --limit do not go together"),
    (("show",), "show takes one id"),
    (("show", "a", "b"), "show takes one id"),
    (("show", "a", "--all"), "--all is of 'lull messages list'"),
    (("show", "a", "--state", "dead"), "--state is of 'lull messages list'"),
    (("show", "../status"), "an id has letters, digits, - and _"),
    (("show", "hush?x"), "an id has letters"),
    (("show", ""), "an id has letters"),
    (("show", "x" * 65), "an id has letters"),
    (("cancel",), "cancel takes one id or more"),
    (("cancel", "good", "ba/d"), "an id has letters"),
]


@pytest.mark.parametrize("arguments,part", WRONG, ids=[" ".join(a)[:50] for a, _ in WRONG])
def test_wrong_arguments_are_refused_with_a_sentence(arguments, part):
    check_refused(lull("messages", *arguments), part, "messages")


@pytest.mark.parametrize("arguments", [("show", "abc"), ("cancel", "abc", "def"),
                                       ("list", "--service", "a b&c", "--all")])
def test_nobody_there(arguments):
    """Of several ids, the others would meet the same: one is enough."""
    done = lull("messages", *arguments, "--retries", "0", "--json")
    assert (done.returncode, done.stdout) == (NO_ANSWER, "")
    assert done.stderr.count("no answer from") == 1
