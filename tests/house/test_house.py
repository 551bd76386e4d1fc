"""Guards the house: who may include whom, what the core may call, what the library shows."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HEADERS = sorted(p.name for p in (ROOT / "include" / "lull").glob("*.h")) + ["version.h"]

# Those of liblull-http, which need libcurl, and of liblull-webpush; all others are liblull's.
HTTP_HEADERS = ["http.h"]
WEBPUSH_HEADERS = ["subscription.h", "vapid.h", "webhook.h", "webpush.h"]
HEADERS_OF = {"liblull-http": HTTP_HEADERS, "liblull-webpush": WEBPUSH_HEADERS,
              "liblull": [h for h in HEADERS if h not in HTTP_HEADERS + WEBPUSH_HEADERS]}

# What each folder may include besides its own headers. Kept in step with docs/architecture.md.
PURE = {"stdbool.h", "stddef.h", "stdint.h", "limits.h", "string.h"}
MAY_INCLUDE = {
    "src/core": PURE | {f"lull/{name}" for name in HEADERS_OF["liblull"]
                        if name not in ("os.h", "lull.h")},
    "src/os": {"stdint.h", "stdlib.h", "time.h", "sys/random.h", "lull/os.h"},
    "src/http": PURE | {f"lull/{name}" for name in HEADERS_OF["liblull"] + HTTP_HEADERS
                        if name != "lull.h"} | {
        "arpa/inet.h", "curl/curl.h", "errno.h", "fcntl.h", "inttypes.h", "netdb.h", "netinet/in.h",
        "netinet/tcp.h", "nghttp2/nghttp2.h", "openssl/err.h", "openssl/ssl.h", "openssl/x509v3.h",
        "pthread.h", "signal.h", "stdatomic.h", "stdio.h", "stdlib.h", "strings.h", "sys/epoll.h",
        "sys/eventfd.h", "sys/socket.h", "sys/stat.h", "unistd.h"},
    # No clock, no file, no socket: keys and time are passed in.
    "src/webpush": PURE | {f"lull/{name}" for name in HEADERS_OF["liblull"] + WEBPUSH_HEADERS
                           if name not in ("os.h", "lull.h")} | {
        "inttypes.h", "jansson.h", "stdarg.h", "stdio.h", "stdlib.h", "strings.h", "sys/mman.h"} | {
        f"openssl/{name}.h" for name in ("bio", "bn", "core_names", "crypto", "ec", "ecdsa", "err", "evp",
                                         "objects", "opensslv", "param_build", "pem", "rand")},
    # Each SQLite file may use sqlite3.h; test_only_the_backend_knows_sqlite says that no other does.
    "src/store": PURE | {f"lull/{name}" for name in HEADERS_OF["liblull"]
                         if name not in ("os.h", "lull.h")} | {
        "assert.h", "errno.h", "fcntl.h", "pthread.h", "sqlite3.h", "stdio.h", "stdlib.h",
        "sys/file.h", "sys/stat.h", "sys/statvfs.h", "unistd.h"},
    # Pure, but for the memory that it takes at its start.
    "src/engine": PURE | {f"lull/{name}" for name in HEADERS_OF["liblull"]
                          if name not in ("os.h", "lull.h")} | {"assert.h", "saturate.h", "stdlib.h"},
    "src/server": None,
    "src/cli": None,  # everything
}

MAN_PAGES = ["lull.1", "lull-explain.1", "lull-fetch.1", "lull-keys.1", "lull-messages.1", "lull-mock.1",
             "lull-push.1", "lull-send.1", "lull-serve.1", "lull-status.1",
             "lull.conf.5", "lull-policy.7", "liblull.3", "liblull-http.3", "liblull-webpush.3"]

# The C library's pure part, and what compilers put in by themselves.
CORE_MAY_CALL = {"memchr", "memcmp", "memcpy", "memmove", "memset", "strchr", "strcmp", "strlen",
                 "_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail"}


def run(*command, **options):
    return subprocess.run(command, text=True, capture_output=True, **options)


def includes(path):
    return re.findall(r'^\s*#\s*include\s+["<]([^">]+)[">]', path.read_text(), re.MULTILINE)


def test_every_folder_of_src_has_its_rule():
    folders = {f"src/{p.name}" for p in (ROOT / "src").iterdir() if p.is_dir()}
    assert folders == set(MAY_INCLUDE)


@pytest.mark.parametrize("folder", [f for f, allowed in MAY_INCLUDE.items() if allowed])
def test_includes_point_down(folder):
    files = sorted((ROOT / folder).glob("*.[ch]"))
    own = {p.name for p in files}
    assert files
    wrong = [f"{p.relative_to(ROOT)}: {name}" for p in files for name in includes(p)
             if name not in MAY_INCLUDE[folder] | own]
    assert wrong == []


def test_public_headers_include_only_each_other():
    """And libcurl's, in those of liblull-http. Each library's may use its own and liblull's."""
    def may_include(header):
        owner = next(library for library, headers in HEADERS_OF.items() if header in headers)
        names = HEADERS_OF["liblull"] + HEADERS_OF[owner]
        return PURE | {f"lull/{name}" for name in names} | (
            {"curl/curl.h"} if owner == "liblull-http" else set())

    wrong = [f"{p.name}: {name}" for p in (ROOT / "include" / "lull").glob("*.h")
             for name in includes(p) if name not in may_include(p.name)]
    assert wrong == []


def test_core_calls_nothing_but_itself_and_the_pure_part():
    """On the release build: a sanitizer would add calls of its own."""
    symbols = run("nm", str(ROOT / "build" / "liblull-core.a")).stdout
    defined = set(re.findall(r"^[0-9a-f]+ [TDRBtdrbVWi] (\S+)$", symbols, re.MULTILINE))
    called = set(re.findall(r"^\s+U (\S+)$", symbols, re.MULTILINE))
    assert "lull_decide" in defined
    assert called - defined - CORE_MAY_CALL == set()


def test_engine_calls_nothing_but_itself_the_core_and_for_memory():
    symbols = run("nm", str(ROOT / "build" / "src" / "engine" / "liblull-engine.a")).stdout
    defined = set(re.findall(r"^[0-9a-f]+ [TDRBtdrbVWi] (\S+)$", symbols, re.MULTILINE))
    called = set(re.findall(r"^\s+U (\S+)$", symbols, re.MULTILINE)) - defined
    assert "engine_on_outcome" in defined
    assert {name for name in called if not name.startswith("lull_")} <= CORE_MAY_CALL | {
        "calloc", "free", "__assert_fail"}
    assert not [name for name in called if name.startswith("lull_os_")]


def test_only_the_backend_knows_sqlite():
    assert [p.name for p in (ROOT / "src" / "store").glob("*.[ch]")
            if "sqlite3.h" in includes(p) and not p.name.startswith("sqlite_")] == []


def test_core_has_no_writable_state():
    """Tables of pointers are in .data.rel.ro, which is read-only once they are filled in."""
    sections = run("objdump", "-h", str(ROOT / "build" / "liblull-core.a")).stdout
    sizes = re.findall(r"^\s*\d+ (\.data|\.bss|\.tdata|\.tbss)\s+([0-9a-f]+)", sections,
                       re.MULTILINE)
    assert len(sizes) > 20
    assert [name for name, size in sizes if int(size, 16) > 0] == []


@pytest.mark.parametrize("library", HEADERS_OF)
def test_shared_library_exports_its_public_functions_and_nothing_else(library):
    exported = set(re.findall(r" T (\S+)$", run("nm", "-D", "--defined-only",
                                                str(ROOT / "build" / f"{library}.so")).stdout,
                              re.MULTILINE))
    declared = set()
    for path in list((ROOT / "include" / "lull").glob("*.h*")):
        if path.name.removesuffix(".in") not in HEADERS_OF[library]:
            continue
        text = re.sub(r"/\*.*?\*/|^#.*?$", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
        for declaration in re.findall(r"LULL_API ([^;]*?)\(", text):
            declared.add(re.split(r"[\s*]+", declaration.strip())[-1])
    assert len(declared) > (60 if library == "liblull" else 12)
    assert exported == declared


@pytest.mark.parametrize("library", HEADERS_OF)
def test_shared_library_has_its_soname(library):
    assert f"{library}.so.0" in run("objdump", "-p", str(ROOT / "build" / f"{library}.so")).stdout


def test_the_decisions_need_no_curl():
    assert "curl" not in run("objdump", "-p", str(ROOT / "build" / "liblull.so")).stdout


@pytest.mark.parametrize("language", ["c", "c++"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("header", HEADERS)
def test_header_compiles_alone(header, compiler, language, tmp_path):
    source = tmp_path / ("x.c" if language == "c" else "x.cpp")
    # Twice, so that the guard is tested too; and a name, so that the file is not empty.
    source.write_text(f'#include "lull/{header}"\n#include "lull/{header}"\nextern int x;\n')
    standard = "c11" if language == "c" else "c++11"
    name = compiler if language == "c" else {"gcc": "g++", "clang": "clang++"}[compiler]
    done = run(name, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror",
               "-fsyntax-only", f"-I{ROOT / 'include'}", f"-I{ROOT / 'build' / 'include'}",
               str(source))
    assert done.stderr == ""
    assert done.returncode == 0


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    place = tmp_path_factory.mktemp("installed")
    done = run("meson", "install", "--no-rebuild", "--destdir", str(place), "-C",
               str(ROOT / "build"))
    assert done.returncode == 0, done.stderr
    return place


HTTP_EXAMPLE = """
#include <lull/http.h>
#include <stdio.h>
int main(void)
{
    struct lull_client *client;
    struct lull_request request;
    struct lull_result *result;
    lull_request_init(&request, "http://nobody.invalid/");
    if (lull_client_new(&client, NULL) || lull_http_perform(client, &request, &result))
        return 1;
    printf("%s %d\\n", lull_reason_to_string(result->reason), (int)result->attempt_count);
    lull_result_free(result);
    lull_client_destroy(client);
    return 0;
}
"""

EXAMPLE = """
#include <lull/lull.h>
#include <stdio.h>
int main(void)
{
    struct lull_policy policy;
    struct lull_retry retry;
    lull_policy_named(&policy, "client");
    lull_retry_init(&retry, &policy, lull_os_seed(), lull_os_now_ms());
    int64_t wait_ms = lull_retry_after_failure(&retry, true, lull_os_now_ms());
    printf("%s %d\\n", lull_version(), wait_ms >= 50 && wait_ms <= 200);
    return 0;
}
"""


@pytest.mark.parametrize("language", ["c", "c++"])
@pytest.mark.parametrize("linking", ["shared", "static"])
def test_installed_library_can_be_used(installed, language, linking, tmp_path):
    """As a stranger would: by pkg-config alone."""
    pc = next(installed.rglob("lull.pc"))
    library = pc.parent.parent
    source = tmp_path / ("x.c" if language == "c" else "x.cpp")
    source.write_text(EXAMPLE)
    options = run("pkg-config", f"--define-variable=prefix={installed}/usr/local", "--cflags",
                  "--libs", str(pc)).stdout.split()
    if linking == "static":
        options = [o if o != "-llull" else str(next(library.glob("liblull.a"))) for o in options]
    program = tmp_path / "x"
    done = run("gcc" if language == "c" else "g++", str(source), "-o", str(program), *options)
    assert done.returncode == 0, done.stderr
    done = run(str(program), env={"LD_LIBRARY_PATH": str(library)})
    version = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text()).group(1)
    assert done.stdout == f"{version} 1\n"


@pytest.mark.parametrize("language", ["c", "c++"])
def test_installed_http_library_can_be_used(installed, language, tmp_path):
    """By pkg-config alone, which brings liblull and libcurl along (S6: .invalid is never asked)."""
    pc = next(installed.rglob("lull-http.pc"))
    source = tmp_path / ("x.c" if language == "c" else "x.cpp")
    source.write_text(HTTP_EXAMPLE)
    options = run("pkg-config", f"--define-variable=prefix={installed}/usr/local", "--cflags",
                  "--libs", "lull-http",
                  env={**os.environ, "PKG_CONFIG_PATH": str(pc.parent)}).stdout.split()
    options = [o.replace("/usr/local", f"{installed}/usr/local", 1)
               if o.startswith(("-I/usr/local", "-L/usr/local")) else o for o in options]
    program = tmp_path / "x"
    done = run("gcc" if language == "c" else "g++", str(source), "-o", str(program), *options,
               f"-Wl,-rpath-link,{pc.parent.parent}")
    assert done.returncode == 0, done.stderr
    done = run(str(program), env={"LD_LIBRARY_PATH": str(pc.parent.parent)})
    assert done.stdout == "gone 0\n"


def test_install_brings_the_man_pages_and_the_completion(installed):
    names = {p.name for p in installed.rglob("*") if p.is_file()}
    assert {"lull", "lull.conf", "lull.service", "lull.socket", *MAN_PAGES} <= names
    for library in HEADERS_OF:
        assert {f"{library}.a", f"{library}.so", f"{library.removeprefix('lib')}.pc"} <= names


def test_readme_example_compiles_and_runs(tmp_path):
    """The C example of the README, word for word."""
    blocks = re.findall(r"```c\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(blocks) == 2
    source = tmp_path / "example.c"
    source.write_text(blocks[1])
    program = tmp_path / "example"
    done = run("gcc", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}",
               f"-I{ROOT / 'build' / 'include'}", str(source), str(ROOT / "build" / "liblull.a"),
               "-o", str(program))
    assert done.returncode == 0, done.stderr
    done = run(str(program), timeout=60)
    assert done.returncode == 0
    assert "connected" in done.stdout


def test_readme_http_example_compiles_and_runs(tmp_path):
    """The first one, on a port where nobody listens: it gives up, and says so."""
    blocks = re.findall(r"```c\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    source = tmp_path / "example.c"
    source.write_text(blocks[0])
    program = tmp_path / "example"
    build = ROOT / "build"
    done = run("gcc", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}",
               f"-I{build / 'include'}", str(source), str(build / "liblull-http.a"),
               str(build / "liblull.a"), "-lcurl", "-lnghttp2", "-lssl", "-lcrypto", "-o", str(program))
    assert done.returncode == 0, done.stderr
    done = run(str(program), "http://127.0.0.1:1/", timeout=60)
    assert done.returncode == 1
    assert "max_attempts_exceeded after 4 attempts" in done.stdout


def test_readme_push_works_word_for_word(tmp_path):
    """The four commands of the README, in a shell, with the program that is built."""
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (block,) = [text for text in blocks if "lull mock" in text]
    (tmp_path / "build").symlink_to(ROOT / "build")
    done = run("bash", "-c", block, cwd=tmp_path, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "attempt 1: HTTP 503; again in" in done.stderr
    assert "attempt 2: HTTP 429, asked to wait 2.0 s; again in" in done.stderr
    assert "delivered, HTTP 201, attempt 3" in done.stderr
    assert '"text":"Hello"' in done.stdout.splitlines()[-1]


def test_architecture_page_names_every_folder_and_file_of_the_libraries():
    page = (ROOT / "docs" / "architecture.md").read_text()
    for folder in MAY_INCLUDE:
        assert folder in page
    for folder in ("core", "http", "webpush", "store", "engine", "server"):
        for path in (ROOT / "src" / folder).glob("*.c"):
            assert f"`{path.stem}`" in page, path.stem


@pytest.mark.parametrize("page", MAN_PAGES)
def test_man_pages_are_not_empty(page):
    text = (ROOT / "docs" / "man" / page).read_text()
    assert text.startswith(".TH ") or '.\\"' in text.splitlines()[0]
    assert len(text) > 800


def test_no_tool_is_missing():
    """nothing here may be skipped for want of a tool"""
    for tool in ("gcc", "g++", "clang", "clang++", "nm", "objdump", "pkg-config", "meson"):
        assert shutil.which(tool), tool
