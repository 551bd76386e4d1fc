"""`lull keys`: files and their modes, formats, refusals, the check before the first send (W2, W9).

Every run looks for the private key in what was printed; only `export` may show it."""

import base64
import datetime
import email.utils
import http.server
import itertools
import json
import os
import pathlib
import pty
import re
import subprocess
import threading
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("LULL_PROGRAM", str(ROOT / "build" / "lull"))
SUB = "mailto:me@example.org"
FORMATS = ("file", "jwk", "pem", "pair")
AUTH = "BTBZMqHH6r4Tts7J_aSIgg"


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def openssl(*arguments, **options):
    return subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=30,
                          **options).stdout


class Home:
    """A user of their own, and the secrets that no output may have."""

    def __init__(self, path):
        self.path = path
        self.file = path / "config" / "lull" / "vapid.json"
        self.secrets = set()
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.lower().endswith("_proxy")}
        self.environment.update(HOME=str(path / "home"), XDG_CONFIG_HOME=str(path / "config"))

    def run(self, *arguments, stdin="", **options):
        options = {"env": self.environment, "cwd": self.path, **options}
        return subprocess.run([PROGRAM, "keys", *map(str, arguments)], text=True, timeout=30,
                              input=stdin, capture_output=True, **options)

    def keys(self, *arguments, **options):
        done = self.run(*arguments, **options)
        for path in self.path.rglob("*"):
            if path.is_file():
                self.learn(path.read_text())
        for secret in self.secrets:
            assert secret not in done.stdout + done.stderr
        return done

    def learn(self, text):
        """The private key in a file, in all its spellings."""
        if "PRIVATE KEY" in text:
            self.secrets |= {line for line in text.splitlines() if line and line[0] != "-"}
        for word in re.findall(r'"(?:d|privateKey)": ?"([^"]{43})"', text):
            secret = decode(word)
            self.secrets |= {encode(secret), base64.b64encode(secret).decode(), secret.hex()}

    def new(self, *arguments):
        done = self.keys("new", "--sub", SUB, *arguments)
        assert done.returncode == 0, done.stderr
        return done

    def public(self, *arguments):
        done = self.keys("show", "--public", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def export(self, form):
        done = self.run("export", "--format", form)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return done.stdout


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


@pytest.fixture
def keyed(home):
    home.new()
    assert len(home.secrets) == 3
    return home


def refused(done, part, code=2):
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stdout == ""
    assert part in done.stderr
    assert done.stderr.startswith("lull keys: ")
    if code == 2:
        assert "lull help keys" in done.stderr


def mode(path):
    return path.stat().st_mode & 0o7777


# ---- new ----

def test_new_writes_a_key_for_its_owner_alone(home):
    done = home.new()
    assert mode(home.file) == 0o600
    assert mode(home.file.parent) == 0o700
    assert [p.name for p in home.file.parent.iterdir()] == ["vapid.json"]
    key = json.loads(home.file.read_text())
    assert key["kty"] == "EC" and key["crv"] == "P-256" and key["sub"] == SUB
    public = encode(b"\x04" + decode(key["x"]) + decode(key["y"]))
    for part in (str(home.file), key["kid"], SUB, public, "applicationServerKey"):
        assert part in done.stdout
    assert done.stderr == ""


def test_each_key_is_another(home):
    home.new("--out", "a")
    home.new("--out", "b")
    assert home.public("--key", "a") != home.public("--key", "b")


@pytest.mark.parametrize("umask", [0o000, 0o077, 0o777])
def test_the_umask_changes_nothing(home, umask):
    done = home.run("new", "--sub", SUB, "--out", "key", preexec_fn=lambda: os.umask(umask))
    assert done.returncode == 0, done.stderr
    assert mode(home.path / "key") == 0o600


def test_without_xdg_it_is_in_the_home(home):
    del home.environment["XDG_CONFIG_HOME"]
    home.new()
    assert mode(home.path / "home" / ".config" / "lull" / "vapid.json") == 0o600


@pytest.mark.parametrize("value", ["", "config"])
def test_an_empty_or_relative_xdg_is_passed_over(home, value):
    home.environment["XDG_CONFIG_HOME"] = value
    home.new()
    assert (home.path / "home" / ".config" / "lull" / "vapid.json").is_file()


def test_without_a_home_the_file_must_be_named(home):
    del home.environment["XDG_CONFIG_HOME"], home.environment["HOME"]
    for arguments in (["new", "--sub", SUB], ["show"], ["export", "--format", "pem"]):
        refused(home.keys(*arguments), "neither XDG_CONFIG_HOME nor HOME is set")
    home.new("--out", "key")
    home.public("--key", "key")


def test_an_existing_key_is_kept_unless_forced(keyed):
    before = keyed.file.read_bytes()
    refused(keyed.keys("new", "--sub", SUB), "--force replaces it")
    refused(keyed.keys("import", "-", "--sub", SUB, stdin=keyed.export("pem")), "exists")
    refused(keyed.keys("export", "--format", "pem", "--out", keyed.file), "exists")
    assert keyed.file.read_bytes() == before
    keyed.file.chmod(0o644)
    keyed.new("--force")
    assert keyed.file.read_bytes() != before
    assert mode(keyed.file) == 0o600
    assert [p.name for p in keyed.file.parent.iterdir()] == ["vapid.json"]


@pytest.mark.parametrize("subject", ["https://example.org/contact", "mailto:a.b+c@sub.example.org"])
def test_subjects_that_are_accepted(home, subject):
    assert home.keys("new", "--sub", subject).returncode == 0
    assert json.loads(home.keys("show", "--json").stdout)["subject"] == subject


@pytest.mark.parametrize("subject", [
    "", "me@example.org", "mailto:", "mailto:me", "mailto:me@localhost", "mailto:<me@example.org>",
    "mailto: me@example.org", "http://example.org", "https://localhost/", "https://",
    "mailto:a\nb@example.org", "mailto:" + "a" * 300 + "@example.org"])
def test_V3_subjects_that_push_services_refuse(home, subject):
    refused(home.keys("new", "--sub", subject), "--sub: ")
    refused(home.keys("import", "-", "--sub", subject, stdin="x"), "--sub: ")
    assert not home.file.exists()


def test_where_nothing_can_be_written(home):
    refused(home.keys("new", "--sub", SUB, "--out", "no/such/folder"), "cannot be written", 1)
    refused(home.keys("new", "--sub", SUB, "--out", "/proc/key"), "cannot be written", 1)
    refused(home.keys("new", "--sub", SUB, "--out", "x" * 300), "cannot be written", 1)
    (home.path / "config").write_text("in the way")
    refused(home.keys("new", "--sub", SUB), "cannot be written", 1)


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_links_and_folders_are_never_written_over(keyed, force):
    (keyed.path / "folder").mkdir()
    (keyed.path / "link").symlink_to(keyed.file)
    (keyed.path / "dangling").symlink_to("nowhere")
    os.mkfifo(keyed.path / "pipe")
    for name, part in (("folder", "a folder"), ("link", "a symbolic link"),
                       ("dangling", "a symbolic link"), ("pipe", "no regular file")):
        refused(keyed.keys("new", "--sub", SUB, "--out", name, *force), part)
        refused(keyed.keys("export", "--format", "pem", "--out", name, *force), part)
    assert not (keyed.path / "nowhere").exists()


# ---- who may read it ----

@pytest.mark.parametrize("bits", [0o644, 0o640, 0o604, 0o620, 0o601, 0o777])
def test_a_file_that_others_have_access_to_is_refused(keyed, bits):
    keyed.file.chmod(bits)
    for arguments in (["show"], ["show", "--public"], ["export", "--format", "pem"]):
        refused(keyed.keys(*arguments), f"chmod 600 {keyed.file}")
    done = keyed.keys("check")
    assert done.returncode == 1
    assert done.stdout.startswith("error ") and f"chmod 600 {keyed.file}" in done.stdout
    subprocess.run(re.search("chmod 600 .*", done.stdout).group(), shell=True, check=True)
    assert keyed.keys("show").returncode == 0


def test_the_command_that_mends_it_can_be_pasted(home):
    name = "it's a \"key\" $HOME `x`; *"
    home.new("--out", name)
    (home.path / name).chmod(0o644)
    done = home.keys("show", "--key", name)
    command = re.search("chmod 600 .*", done.stderr).group()
    subprocess.run(command, shell=True, check=True, cwd=home.path)
    assert home.keys("show", "--key", name).returncode == 0


def test_a_file_for_reading_only_is_fine(keyed):
    keyed.file.chmod(0o400)
    assert keyed.keys("show").returncode == 0


def test_what_is_no_key_file(keyed):
    (keyed.path / "link").symlink_to(keyed.file)
    os.mkfifo(keyed.path / "pipe", 0o600)
    files = {"empty": "", "text": "hush", "json": "{}", "big": " " * 20000,
             "cut": keyed.file.read_text()[:-40], "pem": keyed.export("pem")}
    for name, content in files.items():
        (keyed.path / name).write_text(content)
        (keyed.path / name).chmod(0o600)
    for name, part in (("link", "is a symbolic link"), (".", "is a folder"), ("pipe", "no regular"),
                       ("empty", "neither PEM"), ("text", "neither PEM"), ("json", "privateKey"),
                       ("big", "too big"), ("cut", "not valid JSON"), ("pem", "no subject"),
                       ("missing", "No such file")):
        refused(keyed.keys("show", "--key", name), part)
        done = keyed.keys("check", "--key", name)
        assert done.returncode == 1 and done.stdout.startswith("error ") and part in done.stdout


def test_a_missing_default_key_says_how_to_make_one(home):
    refused(home.keys("show"), f"there is no key yet in {home.file}: 'lull keys new' makes one")


def test_what_was_pasted_in_place_of_a_name_is_not_repeated(keyed):
    pair = json.loads(keyed.export("pair"))
    for arguments in (["import", pair["privateKey"]], ["import", json.dumps(pair)],
                      ["show", "--key", pair["privateKey"]], ["show", pair["privateKey"]],
                      [pair["privateKey"]], ["new", "--sub", pair["privateKey"]],
                      ["export", "--format", pair["privateKey"]],
                      ["check", "--to", pair["privateKey"]],
                      ["check", "--ttl", pair["privateKey"]]):
        refused(keyed.keys(*arguments), "")


# ---- show ----

def test_show(keyed):
    key = json.loads(keyed.file.read_text())
    public = encode(b"\x04" + decode(key["x"]) + decode(key["y"]))
    assert keyed.keys("show", "--public").stdout == public + "\n"
    assert keyed.keys("show").stdout.split() == ["id", key["kid"], "subject", SUB, "public", "key",
                                                 public]
    assert json.loads(keyed.keys("show", "--json").stdout) == {
        "id": key["kid"], "subject": SUB, "public_key": public}
    refused(keyed.keys("show", "--public", "--json"), "do not go together")


# ---- export and import ----

def labelled(pair):
    return ("\n=======================================\n\n"
            f"Public Key:\n{pair['publicKey']}\n\nPrivate Key:\n{pair['privateKey']}\n\n"
            "=======================================\n")


@pytest.mark.parametrize("first,second", itertools.product(FORMATS, repeat=2))
def test_round_trips_between_all_formats(keyed, first, second):
    public = keyed.public()
    before = keyed.export(second)
    done = keyed.keys("import", "-", "--sub", SUB, "--force", stdin=keyed.export(first))
    assert done.returncode == 0, done.stderr
    assert keyed.public() == public
    assert keyed.export(second) == before
    assert mode(keyed.file) == 0o600


def test_the_two_lines_that_a_tool_prints(keyed):
    public = keyed.public()
    pair = json.loads(keyed.export("pair"))
    for text in (labelled(pair), labelled(pair).replace("\n", "\r\n"),
                 f"Public Key: {pair['publicKey']}\nPrivate Key: {pair['privateKey']}\n"):
        assert keyed.keys("import", "-", "--sub", SUB, "--force", stdin=text).returncode == 0
        assert keyed.public() == public


def test_the_subject_of_the_key_or_another(keyed):
    text = keyed.export("file")
    assert keyed.keys("import", "-", "--force", stdin=text).returncode == 0
    assert json.loads(keyed.keys("show", "--json").stdout)["subject"] == SUB
    other = "https://example.org/contact"
    assert keyed.keys("import", "-", "--sub", other, "--force", stdin=text).returncode == 0
    assert json.loads(keyed.keys("show", "--json").stdout)["subject"] == other
    for form in ("jwk", "pem", "pair"):
        refused(keyed.keys("import", "-", "--force", stdin=keyed.export(form)), "no subject")


def test_import_from_a_file_to_a_file(keyed):
    (keyed.path / "in.pem").write_text(keyed.export("pem"))
    done = keyed.keys("import", "in.pem", "--sub", SUB, "--out", "out.json")
    assert done.returncode == 0 and "out.json" in done.stdout
    assert mode(keyed.path / "out.json") == 0o600
    assert keyed.public("--key", "out.json") == keyed.public()


def test_openssl_reads_our_pem(keyed):
    pem = keyed.export("pem")
    assert pem.startswith("-----BEGIN PRIVATE KEY-----\n")
    point = openssl("pkey", "-pubout", "-outform", "DER", input=pem.encode())[-65:]
    assert encode(point) == keyed.public()
    assert b"prime256v1" in openssl("pkey", "-noout", "-text", input=pem.encode())


def openssl_key(form, curve="prime256v1"):
    sec1 = openssl("ecparam", "-name", curve, "-genkey")
    if form == "sec1-noout":
        return openssl("ec", input=sec1)
    return openssl("pkcs8", "-topk8", "-nocrypt", input=sec1) if form == "pkcs8" else sec1


@pytest.mark.parametrize("form", ["sec1", "sec1-noout", "pkcs8"])
def test_we_read_the_pem_of_openssl(home, form):
    pem = openssl_key(form)
    assert (b"BEGIN PRIVATE KEY" in pem) == (form == "pkcs8")
    assert home.keys("import", "-", "--sub", SUB, stdin=pem.decode()).returncode == 0
    point = openssl("pkey", "-pubout", "-outform", "DER", input=pem)[-65:]
    assert home.public() == encode(point)


@pytest.mark.parametrize("curve", ["secp384r1", "secp256k1", "secp521r1"])
@pytest.mark.parametrize("form", ["sec1", "pkcs8"])
def test_another_curve_is_refused(home, curve, form):
    done = home.keys("import", "-", "--sub", SUB, stdin=openssl_key(form, curve).decode())
    refused(done, "P-256")
    assert not home.file.exists()


def test_keys_of_other_kinds_are_refused(home):
    rsa = openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024")
    edwards = openssl("genpkey", "-algorithm", "ED25519")
    public = openssl("pkey", "-pubout", input=openssl_key("pkcs8"))
    locked = openssl("pkcs8", "-topk8", "-passout", "pass:hush", input=openssl_key("sec1"))
    for pem in (rsa, edwards, public, locked):
        refused(home.keys("import", "-", "--sub", SUB, stdin=pem.decode()), "cannot be imported")
    assert not home.file.exists()


def test_a_mismatched_pair_is_refused(home):
    home.new("--out", "a")
    home.new("--out", "b")
    one, other = (json.loads((home.path / name).read_text()) for name in "ab")
    home.secrets |= {one["d"], other["d"]}
    mixed = {**one, "x": other["x"], "y": other["y"]}
    pair = {"publicKey": home.public("--key", "a"), "privateKey": other["d"]}
    for text in (json.dumps(mixed), json.dumps(pair), labelled(pair)):
        refused(home.keys("import", "-", "--sub", SUB, stdin=text), "not of one pair")
    (home.path / "a").write_text(json.dumps(mixed))
    refused(home.keys("show", "--key", "a"), "not of one pair")
    done = home.keys("check", "--key", "a")
    assert done.returncode == 1 and re.match("error .*not of one pair", done.stdout)


ORDER = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"


@pytest.mark.parametrize("text,part", [
    ("", "neither PEM"), ("hush", "neither PEM"), ("{", "not valid JSON"), ("{}", "privateKey"),
    ("[]", "neither PEM"), ('{"privateKey": 5}', "privateKey"),
    ('{"privateKey": "hush!"}', "base64url"), ('{"privateKey": "aHVzaA"}', "32 bytes"),
    ('{"privateKey": "%s"}' % encode(bytes(32)), "order"),
    ('{"privateKey": "%s"}' % encode(bytes.fromhex(ORDER)), "order"),
    ('{"kty": "EC", "crv": "P-384"}', "P-256"), ('{"kty": "RSA"}', "P-256"),
    ('{"kty": "EC", "crv": "P-256", "x": "aHVzaA", "y": "aHVzaA"}', "d is missing"),
    ("-----BEGIN PRIVATE KEY-----\nhush\n-----END PRIVATE KEY-----\n", "PEM"),
    (" " * 70000, "too big"), ("\0" * 100, "neither PEM"),
], ids=lambda value: value[:30].replace("\0", "0"))
def test_what_cannot_be_imported(home, text, part):
    done = home.keys("import", "-", "--sub", SUB, stdin=text)
    refused(done, part)
    assert "hush" not in done.stderr and "aHVzaA" not in done.stderr
    assert not home.file.exists()


def test_a_file_that_cannot_be_imported(home):
    refused(home.keys("import", "missing", "--sub", SUB), "the key cannot be read: No such file")
    refused(home.keys("import", ".", "--sub", SUB), "the key cannot be read: Is a directory")


def test_export_to_a_file(keyed):
    for form in FORMATS:
        done = keyed.keys("export", "--format", form, "--out", form)
        assert done.returncode == 0 and done.stdout == ""
        assert (keyed.path / form).read_text() == keyed.export(form)
        assert mode(keyed.path / form) == 0o600
    keyed.keys("export", "--format", "pem", "--out", "jwk", "--force")
    assert (keyed.path / "jwk").read_text() == keyed.export("pem")


def on_a_terminal(home, *arguments):
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run([PROGRAM, "keys", *arguments], env=home.environment, timeout=30,
                              stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE,
                              text=True)
        os.write(theirs, b"|")
        shown = b""
        while not shown.endswith(b"|"):
            shown += os.read(ours, 4096)
    finally:
        os.close(ours)
        os.close(theirs)
    return done, shown[:-1].decode()


def test_no_private_key_on_a_terminal_unless_forced(keyed):
    done, shown = on_a_terminal(keyed, "export", "--format", "jwk")
    assert done.returncode == 2 and shown == ""
    assert "--out FILE, or --force" in done.stderr
    done, shown = on_a_terminal(keyed, "export", "--format", "jwk", "--force")
    assert done.returncode == 0 and shown.strip() == keyed.export("jwk").strip()
    done, shown = on_a_terminal(keyed, "show", "--public")
    assert done.returncode == 0 and shown.strip() == keyed.public()


def test_a_full_disk_is_no_success(keyed):
    for arguments in (["export", "--format", "pem"], ["show"], ["check", "--json"]):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([PROGRAM, "keys", *arguments], env=keyed.environment, text=True,
                                  stdout=full, stderr=subprocess.PIPE, timeout=30)
        assert done.returncode == 1
        assert "could not be written" in done.stderr


# ---- check ----

class Service:
    """A push service that answers with what Date it is told, and counts who asks for what."""

    def __init__(self):
        self.headers = {}
        self.status = 404
        self.asked = []
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                service.asked.append((self.command, self.path))
                self.send_response_only(service.status)
                for name, value in service.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_POST = do_HEAD = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def set_clock(self, offset_s):
        self.headers["Date"] = email.utils.formatdate(time.time() + offset_s, usegmt=True)


@pytest.fixture
def service():
    service = Service()
    service.set_clock(0)
    yield service
    service.server.shutdown()
    service.server.server_close()


@pytest.fixture(scope="module")
def point():
    return encode(openssl("pkey", "-pubout", "-outform", "DER", input=openssl_key("pkcs8"))[-65:])


@pytest.fixture
def subscribe(keyed, point):
    """Writes a subscription and returns its name."""
    def write(url, **changes):
        subscription = {"endpoint": url, "expirationTime": None,
                        "keys": {"p256dh": point, "auth": AUTH}, **changes}
        keyed.secrets |= {point, AUTH, "hush"}
        (keyed.path / "subscription.json").write_text(json.dumps(subscription))
        return "subscription.json"
    return write


@pytest.fixture
def check(keyed, subscribe):
    """Against a service on this machine."""
    def run(endpoint):
        return keyed.keys("check", "--allow-private", "--to", subscribe(endpoint))
    return run


def findings(done):
    """As (level, sentence), of lines that all are of that form."""
    lines = [re.fullmatch(r"(ok|warning|error) +(.+)", line) for line in done.stdout.splitlines()]
    assert all(lines)
    assert done.stderr == ""
    found = [line.groups() for line in lines]
    assert done.returncode == (1 if "error" in [level for level, _ in found] else 0)
    return found


def finding(done, part):
    return [level for level, sentence in findings(done) if part in sentence]


def test_W9_a_good_key_alone(keyed):
    found = findings(keyed.keys("check"))
    assert [level for level, _ in found] == ["ok"] * 3
    assert SUB in found[2][1]


def test_W9_all_is_well(check, service):
    done = check(service.origin + "/push/hush?token=hush")
    assert finding(done, "can be sent to") == ["ok"]
    assert finding(done, "http, not https") == ["warning"]
    assert finding(done, "clock and the service's agree") == ["ok"]
    assert service.asked == [("GET", "/")]  # the origin, once; never the endpoint


def test_W9_check_says_a_hash_for_the_endpoint(keyed, subscribe):
    done = keyed.keys("check", "--no-network", "--to", subscribe("https://fcm.googleapis.com/hush"))
    assert finding(done, "service fcm, endpoint sha256:") == ["ok"]
    assert "googleapis" not in done.stdout


@pytest.mark.parametrize("offset_s,level,part", [
    (-3600, "error", "1 h ahead of"), (3600, "error", "behind"), (-310, "error", "ahead of"),
    (310, "error", "behind"), (-200, "ok", "ahead of"), (200, "ok", "behind"),
    (86400 * 400, "error", "400 d behind")])
def test_W9_the_clock_against_the_services(check, service, offset_s, level, part):
    # 5 s more either way, for the time that the test itself takes
    service.set_clock(offset_s - 5 if offset_s < 0 else offset_s + 5)
    done = check(service.origin + "/push/hush")
    assert finding(done, part) == [level]
    assert ("exp" in done.stdout) == (level == "error")


@pytest.mark.parametrize("status", [200, 301, 400, 403, 404, 405, 429, 500, 503])
def test_W9_any_answer_has_a_date_and_is_asked_for_once(check, service, status):
    service.status = status
    service.headers["Retry-After"] = "1"
    service.headers["Location"] = service.origin + "/elsewhere"
    done = check(service.origin + "/push/hush")
    assert finding(done, "agree") == ["ok"]
    assert len(service.asked) == 1


def test_W9_the_answer_of_a_cache_is_as_old_as_its_age(check, service):
    service.set_clock(-7200)
    service.headers["Age"] = "7200"
    done = check(service.origin + "/push/hush")
    assert finding(done, "agree") == ["ok"]


@pytest.mark.parametrize("date", [None, "", "yesterday", "Mon, 99 Jan 2024 00:00:00 GMT"])
def test_W9_an_answer_without_a_date(check, service, date):
    service.headers = {} if date is None else {"Date": date}
    done = check(service.origin + "/push/hush")
    assert finding(done, "no Date") == ["warning"]


def test_W9_no_answer_is_a_warning(check):
    done = check("http://127.0.0.1:1/push/hush")
    assert finding(done, "did not answer (refused)") == ["warning"]


def test_W5_a_private_address_must_be_allowed(keyed, subscribe, service):
    done = keyed.keys("check", "--to", subscribe(service.origin + "/push/hush"))
    assert finding(done, "only with --allow-private") == ["error"]
    assert service.asked == []


def test_W9_no_network(keyed, subscribe, service):
    done = keyed.keys("check", "--no-network", "--to", subscribe(service.origin + "/push/hush"))
    assert finding(done, "clock") == []
    assert service.asked == []


def test_S6_an_endpoint_under_invalid_is_gone_and_nobody_is_asked(keyed, subscribe):
    done = keyed.keys("check", "--to", subscribe("https://permanently-removed.invalid/hush"))
    assert finding(done, "under .invalid") == ["error"]
    assert finding(done, "clock") == []


def test_a_subscription_that_has_expired(keyed, subscribe):
    now = datetime.datetime.now().timestamp() * 1000
    endpoint = "https://push.example.org/hush"
    for expires, level in ((now - 1000, "error"), (now + 60000, "ok")):
        name = subscribe(endpoint, expirationTime=int(expires))
        done = keyed.keys("check", "--no-network", "--to", name)
        assert findings(done)[3][0] == level


@pytest.mark.parametrize("changes", [
    {"endpoint": None}, {"endpoint": "hush"}, {"endpoint": "ftp://example.org/hush"},
    {"keys": None},
    {"keys": {"p256dh": "hush", "auth": AUTH}}, {"keys": {"auth": AUTH}},
    {"keys": {"p256dh": encode(b"\x04" + bytes(64)), "auth": AUTH}}])
def test_S3_a_subscription_that_cannot_be_sent_to(keyed, subscribe, changes):
    name = subscribe("https://push.example.org/hush", **changes)
    done = keyed.keys("check", "--to", name)
    assert finding(done, "the subscription: ") == ["error"]


def test_a_subscription_from_standard_input_or_from_nowhere(keyed, subscribe):
    text = (keyed.path / subscribe("https://push.example.org/hush")).read_text()
    done = keyed.keys("check", "--no-network", "--to", "-", stdin=text)
    assert finding(done, "can be sent to") == ["ok"]
    done = keyed.keys("check", "--no-network", "--to", "-", stdin="hush")
    assert finding(done, "the subscription: ") == ["error"]
    refused(keyed.keys("check", "--to", "missing"), "the subscription cannot be read: No such file")
    refused(keyed.keys("check", "--to", "-", stdin=" " * 70000), "too big")


APPLE = "https://web.push.apple.com/hush"
MOZILLA = "https://updates.push.services.mozilla.com/wpush/v2/hush"
WNS = "https://db5p.notify.windows.com/w/?token=hush"


@pytest.mark.parametrize("topic,endpoint,level", [
    ("news", None, "ok"), ("a" * 32, None, "ok"), ("-_09azAZ", None, "ok"),
    ("a" * 33, None, "error"), ("", None, "error"), ("a b", None, "error"),
    ("a+b/", None, "error"), ("abc=", None, "error"), ("\u00e9\u00e9", None, "error"),
    ("abcde", None, "warning"), ("abcde", APPLE, "warning"), ("abcde", MOZILLA, "ok"),
    ("a", APPLE, "warning"), ("abcd", APPLE, "ok"), ("abc", APPLE, "ok"), ("ab", APPLE, "ok"),
    ("a" * 29, APPLE, "warning"), ("a" * 33, APPLE, "error")])
def test_V3_the_topic(keyed, subscribe, topic, endpoint, level):
    to = ["--no-network", "--to", subscribe(endpoint)] if endpoint else []
    done = keyed.keys("check", "--topic", topic, *to)
    assert finding(done, "topic") == [level]


@pytest.mark.parametrize("ttl,endpoint,level,part", [
    ("0", WNS, "ok", "X-WNS-Cache-Policy: no-cache"), ("0", APPLE, "ok", "at once or never"),
    ("0", None, "ok", "at once or never"), ("3600", WNS, "ok", "1 h"),
    ("2592001", MOZILLA, "warning", "30 days"), ("2592000", MOZILLA, "ok", "30 d"),
    ("2147483647", None, "ok", "d")])
def test_V4_the_ttl(keyed, subscribe, ttl, endpoint, level, part):
    to = ["--no-network", "--to", subscribe(endpoint)] if endpoint else []
    found = findings(keyed.keys("check", "--ttl", ttl, *to))
    assert found[-1][0] == level and part in found[-1][1]


def test_check_finds_all_at_once_and_says_it_as_json(home, subscribe):
    home.file.unlink()
    to = subscribe("https://gone.invalid/hush")
    done = home.keys("check", "--json", "--to", to, "--topic", "a" * 33, "--ttl", "0")
    report = json.loads(done.stdout)
    assert done.returncode == 1
    assert report["errors"] == 3 and report["warnings"] == 0
    assert [(f["level"], f["check"]) for f in report["findings"]] == [
        ("error", "key"), ("error", "subscription"), ("error", "topic"), ("ok", "ttl")]
    assert all(set(f) == {"level", "check", "text"} for f in report["findings"])


def test_json_can_have_any_path(home):
    name = os.fsdecode(b"k\xff\"\n")
    home.new("--out", "key")
    (home.path / "key").rename(home.path / name)
    (home.path / name).chmod(0o644)
    report = json.loads(home.keys("check", "--json", "--key", name).stdout)
    assert report["errors"] == 1 and "chmod 600" in report["findings"][0]["text"]


# ---- the arguments ----

WRONG = [
    ([], "needs one of new, show, import, export and check"),
    (["old"], "needs one of"),
    (["new"], "needs --sub"),
    (["new", "--sub"], "--sub needs a value"),
    (["new", "--sub", SUB, "extra"], "new takes options only"),
    (["new", "--sub", SUB, "--out", ""], "--out must be the name of a file"),
    (["new", "--sub", SUB, "--out", "-"], "--out must be the name of a file"),
    (["new", "--sub", SUB, "--key", "x"], "--key is not for 'lull keys new'"),
    (["new", "--force=yes"], "--force takes no value"),
    (["show", "--bogus"], "--bogus"),
    (["show", "-x"], "-x"),
    (["show", "--key", ""], "--key must be the name of a file"),
    (["show", "--force"], "--force is not for 'lull keys show'"),
    (["show", "--to", "x"], "--to is not for 'lull keys show'"),
    (["import"], "import needs a file"),
    (["import", "a", "b"], "import takes one file"),
    (["import", "a", "--format", "pem"], "--format is not for"),
    (["export"], "export needs --format"),
    (["export", "--format", "der"], "--format must be file, jwk, pem or pair"),
    (["export", "--format", "pem", "--json"], "--json is not for"),
    (["check", "--ttl", "-1"], "--ttl must be whole seconds"),
    (["check", "--ttl", "1.5"], "--ttl must be whole seconds"),
    (["check", "--ttl", "2147483648"], "--ttl must be whole seconds"),
    (["check", "--out", "x"], "--out is not for 'lull keys check'"),
    (["check", "extra"], "check takes options only"),
]


@pytest.mark.parametrize("arguments,part", WRONG,
                         ids=[" ".join(a)[:40] or "(none)" for a, _ in WRONG])
def test_wrong_arguments_are_refused_with_a_sentence(home, arguments, part):
    refused(home.keys(*arguments), part)
    assert list(home.path.iterdir()) == []


def help_text():
    return subprocess.run([PROGRAM, "help", "keys"], text=True, capture_output=True).stdout


def test_help(home):
    for arguments in (["--help"], ["-h"], ["new", "--help"], ["check", "--help", "extra"]):
        done = home.keys(*arguments)
        assert done.returncode == 0
        assert done.stdout == help_text()
    for word in ("new", "show", "import", "export", "check", "Exit status"):
        assert word in help_text()


def test_man_page_completion_and_help_know_the_same_flags():
    flags = set(re.findall(r"^  (--[a-z-]+)", help_text(), re.MULTILINE))
    assert len(flags) == 13
    man = (ROOT / "docs" / "man" / "lull-keys.1").read_text().replace("\\-", "-")
    completion = (ROOT / "completions" / "lull.bash").read_text().split("== keys ]]", 1)[1]
    for flag in flags:
        assert flag in man, flag
        assert flag in completion, flag


def complete(line, folder):
    script = f"""
        source {ROOT / 'completions' / 'lull.bash'}
        COMP_WORDS=({line}) COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
        _lull; printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", script], text=True, capture_output=True, timeout=30,
                          cwd=folder)
    assert done.stderr == ""
    return set(done.stdout.split())


def test_bash_completion(tmp_path):
    (tmp_path / "a.pem").touch()
    commands = {"keys", "messages", "mock", "push", "send", "status"}
    assert commands <= complete("lull ''", tmp_path)
    assert commands <= complete("lull help ''", tmp_path)
    assert complete("lull keys ''", tmp_path) == {"new", "show", "import", "export", "check",
                                                  "--help"}
    assert complete("lull keys check --t", tmp_path) == {"--to", "--topic", "--ttl"}
    assert complete("lull keys export --format ''", tmp_path) == set(FORMATS)
    assert complete("lull keys show --key ''", tmp_path) == {"a.pem"}
    assert complete("lull keys import a", tmp_path) == {"a.pem"}
    assert "--force" in complete("lull keys import --", tmp_path)
