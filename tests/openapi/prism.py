"""Prism as a proxy that checks both ways, by docs/openapi.yaml, what goes through it.

    with Prism(serve.url) as proxy:
        ... ask proxy.url instead of serve.url ...
        assert not is_of_prism(text)       for each answer

What does not fit, a request or an answer, is answered by Prism itself. So tests that send what is wrong on purpose ask the
server itself.
"""

import os
import pathlib
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from servers import free_port

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = ROOT / "tests" / "openapi" / "node_modules" / ".bin"
DESCRIPTION = ROOT / "docs" / "openapi.yaml"
START_S = 60
STOP_S = 10
IN_QUIET = {"NO_UPDATE_NOTIFIER": "1", "REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}


def is_of_prism(text):
    """Of a body: did Prism write it, because something did not fit?"""
    return "https://stoplight.io/prism/errors#" in text


class Prism:
    def __init__(self, upstream):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._output = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            [str(BIN / "prism"), "proxy", str(DESCRIPTION), upstream, "--errors", "--host", "127.0.0.1",
             "--port", str(self.port)],
            stdin=subprocess.DEVNULL, stdout=self._output, stderr=self._output,
            env={**os.environ, **IN_QUIET})

    def output(self):
        self._output.seek(0)
        return self._output.read()

    def __enter__(self):
        end = time.monotonic() + START_S
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > end:
                self.__exit__()
                raise AssertionError(f"prism did not start:\n{self.output()}")
            time.sleep(0.05)
        return self

    def _is_ready(self):
        try:
            with urllib.request.urlopen(f"{self.url}/healthz", timeout=START_S) as answer:
                return answer.status == 200
        except urllib.error.HTTPError as error:
            raise AssertionError(f"through prism: {error.code} {error.read()}") from error
        except OSError:
            return False

    def __exit__(self, *_):
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
