#!/usr/bin/python3
"""Runs every suite and adds them up: the last line is `N passed, N failed, N skipped`.

The C suites run in both sanitizer builds (gcc in build-test, clang in build-clang), each fuzz target
for a moment, the threads of the client in build-tsan, the simulation, and then the Python suites. A suite that dies
counts as one failure.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
FUZZ_RUNS = 20000
TIMEOUT_S = 300
INTEGRATION_TIMEOUT_S = 900

ENVIRONMENT = dict(
    os.environ,
    LULL_SOURCE_ROOT=str(ROOT),
    LULL_PROGRAM=str(ROOT / "build-test" / "lull"),
    LULL_PEER=str(ROOT / "build-test" / "tests" / "webpush_peer"),
    LULL_DRIVE=str(ROOT / "build-test" / "tests" / "transport_drive"),
    LULL_DRIVE_FAST=str(ROOT / "build-fast" / "tests" / "transport_drive"),
    LULL_PROGRAM_TSAN=str(ROOT / "build-tsan" / "lull"),
    LULL_DRIVE_TSAN=str(ROOT / "build-tsan" / "tests" / "transport_drive"),
    ASAN_OPTIONS="detect_leaks=1:strict_string_checks=1",
    UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1",
    PYTHONDONTWRITEBYTECODE="1",
)


class Totals:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def add_junit(self, path):
        """Adds the suites of a JUnit file and returns how many tests it had."""
        count = 0
        for suite in ElementTree.parse(path).getroot().iter("testsuite"):
            tests = int(suite.get("tests", 0))
            bad = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
            skipped = int(suite.get("skipped", 0))
            self.failed += bad
            self.skipped += skipped
            self.passed += tests - bad - skipped
            count += tests
        return count

    def add_one(self, is_good):
        self.passed += is_good
        self.failed += not is_good


def executables(folder, prefix):
    return sorted(p for p in folder.rglob(prefix + "*") if p.is_file() and os.access(p, os.X_OK))


def run(command, timeout_s=TIMEOUT_S, **environment):
    """Runs to the end and returns (exit code, output); a hang is a failure."""
    try:
        done = subprocess.run(command, env={**ENVIRONMENT, **environment}, cwd=ROOT, text=True,
                              errors="replace", timeout=timeout_s,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired as late:
        return -1, f"{late.stdout or ''}\nno end after {timeout_s} s"


def run_with_junit(totals, name, command, report, timeout_s=TIMEOUT_S, **environment):
    """One suite that writes a JUnit report; prints its output if anything is wrong."""
    code, output = run(command, timeout_s, **environment)
    failed_before = totals.failed
    try:
        count = totals.add_junit(report)
    except (OSError, ElementTree.ParseError):
        count = 0
    if count == 0 or (code != 0 and totals.failed == failed_before):
        totals.add_one(False)
    is_good = totals.failed == failed_before
    print(f"{'ok  ' if is_good else 'FAIL'} {name} ({count})", flush=True)
    if not is_good:
        print(output, report.read_text() if report.exists() else "", sep="\n", flush=True)


def run_c_suites(totals, build, folder):
    for program in executables(ROOT / build / "tests", "test_"):
        report = folder / f"{build}-{program.name}.xml"
        run_with_junit(totals, f"{build}/{program.name}", [str(program)], report,
                       CMOCKA_MESSAGE_OUTPUT="xml", CMOCKA_XML_FILE=str(report))


def run_fuzz_smoke(totals, folder):
    for target in executables(ROOT / "build-clang" / "tests" / "fuzz", "fuzz_"):
        seeds = ROOT / "tests" / "fuzz" / "seeds" / target.name
        found = folder / target.name  # libFuzzer writes what is new to it into the first folder
        found.mkdir()
        code, output = run([str(target), f"-runs={FUZZ_RUNS}", "-max_len=20000",
                            f"-artifact_prefix={folder}/", str(found), str(seeds)])
        totals.add_one(code == 0)
        print(f"{'ok  ' if code == 0 else 'FAIL'} build-clang/{target.name} (1)", flush=True)
        if code != 0:
            print(output, flush=True)


def run_threads(totals):
    """What has threads, under the thread sanitizer: many on one client, those that look up names, and the
    API. One test each."""
    for name in ("stress_client", "test_resolver", "server/test_api", "server/test_api_batch",
                 "server/test_api_life"):
        code, output = run([str(ROOT / "build-tsan" / "tests" / name)], TSAN_OPTIONS="halt_on_error=1")
        totals.add_one(code == 0)
        print(f"{'ok  ' if code == 0 else 'FAIL'} build-tsan/{name} (1)", flush=True)
        if code != 0:
            print(output, flush=True)


def run_simulation(totals):
    """The engine, the delivery and a store in seeded worlds (X3): a test for each seed, half of them in each
    sanitizer build, and one that both builds make the same world of a seed."""
    def worlds(build, seeds):
        return run([str(ROOT / build / "tests" / "sim" / "sim"), "--seeds", seeds])

    def last_line(output):
        return (output.strip().splitlines() or [""])[-1]

    groups = (("build-test", "1..100"), ("build-clang", "101..200"))
    with concurrent.futures.ThreadPoolExecutor(len(groups)) as pool:
        results = list(pool.map(lambda group: worlds(*group), groups))
        twins = [last_line(output) for _, output in
                 pool.map(lambda group: worlds(group[0], "201..204"), groups)]
    for (build, seeds), (code, output) in zip(groups, results):
        counts = re.match(r"(\d+) passed, (\d+) failed", last_line(output))
        passed, failed = map(int, counts.groups()) if counts else (0, 1)
        totals.passed += passed
        totals.failed += failed or code != 0
        print(f"{'ok  ' if code == 0 else 'FAIL'} {build}/sim, seeds {seeds} ({passed + failed})", flush=True)
        if code != 0:
            print(output, flush=True)
    is_same = twins[0] == twins[1] and "hash" in twins[0]
    totals.add_one(is_same)
    print(f"{'ok  ' if is_same else 'FAIL'} sim, the same world in both builds (1)", flush=True)
    if not is_same:
        print(*twins, sep="\n", flush=True)


def main():
    totals = Totals()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run_c_suites(totals, "build-test", folder)
        run_c_suites(totals, "build-clang", folder)
        run_fuzz_smoke(totals, folder)
        run_threads(totals)
        run_simulation(totals)
        for suite in ("cli", "house", "examples", "interop", "openapi", "integration"):
            report = folder / f"{suite}.xml"
            run_with_junit(totals, suite,
                           [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                            f"--junitxml={report}", f"tests/{suite}"], report,
                           INTEGRATION_TIMEOUT_S if suite == "integration" else TIMEOUT_S)
    print(f"{totals.passed} passed, {totals.failed} failed, {totals.skipped} skipped")
    is_bad = totals.failed or not totals.passed or (os.environ.get("CI") and totals.skipped)
    return 1 if is_bad else 0


if __name__ == "__main__":
    sys.exit(main())
