"""What `lull push`, `lull messages` and `lull status` have in common: the server's address, the token,
and a server that is not there."""

import pytest

from api_usage import NO_ANSWER, USAGE, check_flags, check_refused, lull

COMMANDS = {
    "push": ("push", "--webhook", "https://example.org/hush-path", "--body", "hush"),
    "messages": ("messages", "list"),
    "status": ("status",),
}
TOKEN = "hush-hush"

WRONG = [
    # arguments, environment, what the message must name
    (["--server", "ftp://example.org"], {}, "--server must be an http or https URL"),
    (["--server", "http://user:hush@example.org"], {}, "--server must be"),
    (["--server", "http://example.org/?x=hush"], {}, "--server must be"),
    (["--server", "http://example.org/#hush"], {}, "--server must be"),
    (["--server", "http:///"], {}, "--server must be"),
    (["--server", "unix:relative"], {}, "unix:/PATH"),
    (["--server", "unix:/" + "x" * 120], {}, "unix:/PATH"),
    (["--server", "http://example.org/" + "x" * 600], {}, "--server must be"),
    ([], {"LULL_SERVER": "localhost:8372"}, "LULL_SERVER must be an http or https URL"),
    (["--token-file", "/nonexistent/hush"], {}, "the token file cannot be read: No such file"),
    (["--token-file", "/"], {}, "is a folder"),
    (["--token-file", ""], {}, "--token-file must name a file"),
    ([], {"LULL_TOKEN_FILE": "/nonexistent/hush"}, "the token file cannot be read: No such file"),
    ([], {"LULL_TOKEN": "hush hush"}, "LULL_TOKEN must be up to 512 visible ASCII characters"),
    ([], {"LULL_TOKEN": "hush\n"}, "LULL_TOKEN must be"),
    ([], {"LULL_TOKEN": "h" * 513}, "LULL_TOKEN must be"),
    (["--retries", "many"], {}, "--retries must be a whole number from 0 to 1000"),
    (["--max-time", "0"], {}, "--max-time must be seconds"),
    (["--server"], {}, "--server needs a value"),
    (["--json=yes"], {}, "--json takes no value"),
    (["--bogus"], {}, "there is no option --bogus"),
    (["-Z"], {}, "there is no option -Z"),
]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("arguments,environment,part", WRONG,
                         ids=[f"{' '.join(a)[:30]} {' '.join(e)}" for a, e, _ in WRONG])
def test_wrong_arguments_are_refused_with_a_sentence(command, arguments, environment, part):
    check_refused(lull(*COMMANDS[command], *arguments, **environment), part, command)


@pytest.mark.parametrize("command", COMMANDS)
def test_nobody_there(command):
    done = lull(*COMMANDS[command], "--retries", "1")
    assert (done.returncode, done.stdout) == (NO_ANSWER, "")
    assert "no answer from http://127.0.0.1:1 after 2 attempts: refused" in done.stderr
    assert "Is 'lull serve' running there?" in done.stderr


def test_the_flag_goes_before_the_environment():
    done = lull("status", "--retries", "0", "--server", "http://127.0.0.1:2/prefix/",
                LULL_SERVER="nonsense")
    assert done.returncode == NO_ANSWER
    assert "no answer from http://127.0.0.1:2/prefix after" in done.stderr


def test_a_unix_socket_that_is_not_there(tmp_path):
    done = lull("status", "--retries", "0", "--server", f"unix:{tmp_path}/socket")
    assert done.returncode == NO_ANSWER
    assert f"no answer from {tmp_path}/socket after 1 attempt" in done.stderr


# ---- the token file ----

GOOD_TOKENS = {
    "alone": TOKEN,
    "a line": TOKEN + "\n",
    "the server's own file": f"# who may\n\nops: {TOKEN}\nother: x\n",
    "spaces around": f"  {TOKEN} \r\n",
}
BAD_TOKENS = {
    "empty": "",
    "blank": "\n \n# nothing\n",
    "two words": "hush hush\n",
    "a name alone": "ops:\n",
    "not ASCII": "hüsh\n",
    "too long": "h" * 513,
    "a zero byte": "hush\0hush",
}


def token_file(folder, text, mode=0o600):
    path = folder / "token"
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.mark.parametrize("name", GOOD_TOKENS)
def test_a_token_file(name, tmp_path):
    path = token_file(tmp_path, GOOD_TOKENS[name])
    assert lull("status", "--retries", "0", "--token-file", path).returncode == NO_ANSWER
    assert lull("status", "--retries", "0", LULL_TOKEN_FILE=str(path)).returncode == NO_ANSWER


@pytest.mark.parametrize("name", BAD_TOKENS)
def test_a_token_file_without_a_token(name, tmp_path):
    done = lull("status", "--token-file", token_file(tmp_path, BAD_TOKENS[name]))
    check_refused(done, "the token file has no token", "status")


def test_a_token_file_that_others_can_read(tmp_path):
    path = token_file(tmp_path, TOKEN, 0o644)
    check_refused(lull("status", "--token-file", path), f"chmod 600 {path}", "status")


def test_a_token_file_behind_a_link(tmp_path):
    """as container platforms hand out secrets: what it leads to is checked"""
    link = tmp_path / "link"
    link.symlink_to(token_file(tmp_path, TOKEN))
    assert lull("status", "--retries", "0", "--token-file", link).returncode == NO_ANSWER
    token_file(tmp_path, TOKEN, 0o640)
    check_refused(lull("status", "--token-file", link), "others have access", "status")


def test_a_token_file_that_is_too_big(tmp_path):
    check_refused(lull("status", "--token-file", token_file(tmp_path, "#" * 300000)), "too big",
                  "status")


# ---- help ----


@pytest.mark.parametrize("command", COMMANDS)
def test_help(command):
    text = lull("help", command).stdout
    assert "Exit status: 0 done" in text
    for arguments in ((command, "--help"), (command, "-h")):
        done = lull(*arguments)
        assert (done.returncode, done.stdout) == (0, text)
    assert all(len(line) <= 100 for line in text.splitlines()), text


@pytest.mark.parametrize("command", COMMANDS)
def test_man_page_completion_and_help_know_the_same_flags(command):
    check_flags(command)


def test_usage_is_said_before_anything_is_asked():
    assert lull("push", "--to", "-", "--body", "x", stdin="{}").returncode == USAGE
