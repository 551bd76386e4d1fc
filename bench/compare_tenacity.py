#!/usr/bin/python3
"""The same decisions by Python's tenacity, in the same run: how many times slower?

The same five outcomes as bench/core, the same policy: 6 attempts, full jitter from 2 s doubling to
120 s, Retry-After (both forms) as a minimum with a spread of 10 % on top. tenacity has no
Retry-After of its own, so its users write a wait function like the one below.
"""

import email.utils
import random
import subprocess
import sys
import time

import tenacity

ROUNDS = 5
CALLS = 4000
NOW = 1767225600

HEADERS_429 = {"date": "Thu, 01 Jan 2026 00:00:00 GMT", "server": "nginx",
               "content-type": "application/json", "content-length": "79", "retry-after": "120",
               "x-request-id": "c5f0a8d2b7e94b1f",
               "strict-transport-security": "max-age=31536000",
               "access-control-allow-origin": "*"}
HEADERS_503 = {"date": "Thu, 01 Jan 2026 00:00:00 GMT", "server": "nginx",
               "retry-after": "Thu, 01 Jan 2026 00:02:00 GMT", "content-length": "0"}
OUTCOMES = [(201, HEADERS_429), (429, HEADERS_429), (503, HEADERS_503),
            (500, {"date": HEADERS_503["date"], "server": "nginx"}), TimeoutError()]
RETRIED = {408, 429, 500, 502, 503, 504}

BACKOFF = tenacity.wait_random_exponential(multiplier=2, max=120)


def retry_after(headers):
    value = headers.get("retry-after")
    if value is None:
        return 0
    if value.isdigit():
        return int(value)
    date = email.utils.parsedate_to_datetime(value).timestamp()
    return max(0, date - email.utils.parsedate_to_datetime(headers["date"]).timestamp())


def wait(state):
    backoff = BACKOFF(state)
    if state.outcome.failed:
        return backoff
    asked = retry_after(state.outcome.result()[1])
    return max(asked, backoff) + random.uniform(0, min(asked / 10, 30))


RETRYING = tenacity.Retrying(
    stop=tenacity.stop_after_attempt(6), wait=wait, reraise=True,
    retry=(tenacity.retry_if_exception_type(OSError)
           | tenacity.retry_if_result(lambda result: result[0] in RETRIED)))


def decide(outcome, attempt):
    state = tenacity.RetryCallState(RETRYING, None, (), {})
    state.attempt_number = attempt
    if isinstance(outcome, Exception):
        state.set_exception((type(outcome), outcome, None))
    else:
        state.set_result(outcome)
    return RETRYING.iter(retry_state=state)


def mean_ns():
    total = 0.0
    for outcome in OUTCOMES:
        best = float("inf")
        for _ in range(ROUNDS):
            RETRYING.begin()
            start = time.perf_counter_ns()
            for i in range(CALLS):
                decide(outcome, 1 + i % 5)
            best = min(best, (time.perf_counter_ns() - start) / CALLS)
        total += best / len(OUTCOMES)
    return total


def main():
    lull_ns = float(subprocess.run([sys.argv[1], "--ns"], check=True, capture_output=True,
                                   text=True).stdout)
    tenacity_ns = mean_ns()
    print(f"the same decisions, mean: Lull {lull_ns:.1f} ns, tenacity {tenacity_ns:.0f} ns: "
          f"{tenacity_ns / lull_ns:.0f} times")


if __name__ == "__main__":
    main()
