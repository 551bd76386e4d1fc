"""A running `lull serve`, for tests: started on a free port, asked, killed, started again.

    with Serve(folder) as serve:                    a store in folder, all flags as they are usually
        mock = Mock(folder)                         mocking.py: the practice service as target
        answer = serve.post("/v1/messages", {"subscription": mock.subscription("503"), "body": "x"})
        answer.status, answer.json["id"], answer.headers["Location"]
        serve.wait_until_empty()
        serve.kill9(); serve.restart()              the same store, the same port

Whatever else a test needs goes in by arguments: flags (--token-file, --set limits.senders=2), variables
of the environment (LD_PRELOAD of libfaketime), a wrapper before the command (unshare, prlimit). Leaving
the block stops the server by SIGTERM, and fails if it was not well: an exit code, or a sanitizer's
report.
"""

import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time
from typing import NamedTuple

from mocking import PROGRAM, TIMEOUT_S
from servers import free_port

START_S = 30  # under a sanitizer, on a busy machine, with a store that has a log to recover
STOP_S = 60   # what is in flight may end
QUICK = "delivery base=50ms cap=200ms throttle-min=1s"  # a policy for tests that do not want to wait


class Answer(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def lines(self):
        """of NDJSON"""
        return [json.loads(line) for line in self.body.splitlines()]


class Serve:
    """arguments: more flags, after the usual ones. environment: more variables. wrapper: words before the
    command. store, port, token: others than a new file in folder, a free one, and none. is_private_allowed:
    without it, nothing is sent to mock (W5). program: another build."""

    def __init__(self, folder, *arguments, environment=None, wrapper=(), store=None, port=None, token=None,
                 is_private_allowed=True, program=PROGRAM):
        self.folder = pathlib.Path(folder)
        self.store = pathlib.Path(store or self.folder / "lull.db")
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.token = token
        self.output_path = self.folder / "serve.log"
        self.process = None
        self._command = [*map(str, wrapper), str(program), "serve", "--listen", f"127.0.0.1:{self.port}",
                         "--store", str(self.store),
                         *(["--allow-private"] if is_private_allowed else []), *map(str, arguments)]
        clean = {name: value for name, value in os.environ.items()
                 if not name.startswith("LULL_") and name != "NOTIFY_SOCKET"}
        self._environment = {**clean, **(environment or {})}

    # ---- its life ----

    def start(self):
        """Returns when /readyz says so."""
        self.launch()
        try:
            self.wait_until_ready()
        except BaseException:
            self.kill9()
            raise
        return self

    def launch(self):
        """Starts it, and does not wait: for a start that is to fail, or to be killed."""
        assert self.process is None or self.process.poll() is not None, "it runs already"
        with self.output_path.open("ab") as output:
            self.process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=output,
                                            stderr=output, env=self._environment)
        return self

    def wait_until_ready(self, limit_s=START_S):
        self._wait(self._is_ready, limit_s, "ready")

    def wait_for_answer(self, path, limit_s=START_S):
        """Of a server that may be up without being ready."""
        found = []

        def is_there():
            try:
                found.append(self.get(path))
            except (OSError, http.client.HTTPException):
                return False
            return True

        self._wait(is_there, limit_s, "there")
        return found[0]

    def kill9(self):
        """As a power failure would, but for what the kernel still holds."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(TIMEOUT_S)

    def restart(self):
        """After kill9 or stop, or with a SIGTERM before."""
        if self.process.poll() is None:
            self.stop()
        return self.start()

    def signal(self, number):
        self.process.send_signal(number)

    def wait_for_end(self, limit_s=STOP_S):
        """The exit code."""
        return self.process.wait(limit_s)

    def stop(self):
        """SIGTERM, and what is in flight may end."""
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        try:
            code = self.wait_for_end()
        except subprocess.TimeoutExpired:
            self.kill9()
            raise
        assert code in (0, -signal.SIGKILL), f"exit code {code}: {self.output()[-4000:]}"
        self.check_output()

    def output(self):
        """All that it has logged, since the first start."""
        return self.output_path.read_text(errors="replace")

    def check_output(self):
        output = self.output()
        for word in ("Sanitizer", "runtime error"):
            assert word not in output, output[output.index(word) - 200:][:6000]

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, *_):
        if kind is None:
            self.stop()
        else:
            self.kill9()

    # ---- asking it ----

    def request(self, method, path, body=None, headers=None, timeout_s=TIMEOUT_S):
        """body: bytes or text as they are, anything else as JSON. Raises OSError or HTTPException if the
        connection breaks: nothing is repeated here."""
        given = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
            given["Content-Type"] = "application/json"
        body = body.encode() if isinstance(body, str) else body
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)
        try:
            connection.request(method, path, body, {**given, "Connection": "close", **(headers or {})})
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def post(self, path, body, **headers):
        """post("/v1/messages", {...}, Idempotency_Key="k")"""
        return self.request("POST", path, body, {n.replace("_", "-"): v for n, v in headers.items()})

    def get(self, path, **headers):
        return self.request("GET", path, None, {n.replace("_", "-"): v for n, v in headers.items()})

    def delete(self, path):
        return self.request("DELETE", path)

    def batch(self, messages, key=None, timeout_s=TIMEOUT_S):
        """messages: dicts, or lines as they are. The answer's lines."""
        text = "".join((m if isinstance(m, str) else json.dumps(m)) + "\n" for m in messages)
        answer = self.request("POST", "/v1/messages/batch", text,
                              {"Content-Type": "application/x-ndjson",
                               **({"Idempotency-Key": key} if key else {})}, timeout_s)
        assert answer.status == 200, answer
        return answer.lines

    def accept(self, message, **headers):
        """Posts one that must be accepted, and returns its id."""
        answer = self.post("/v1/messages", message, **headers)
        assert answer.status == 202, answer
        return answer.json["id"]

    def message(self, name):
        """All that it tells of one."""
        answer = self.get(f"/v1/messages/{name}")
        assert answer.status == 200, answer
        return answer.json

    def messages(self, filters=""):
        """All of them, newest first, page by page: messages("state=dead")."""
        cursor = ""
        while cursor is not None:
            answer = self.get(f"/v1/messages?limit=1000&{filters}"
                              f"{'&cursor=' if cursor else ''}{cursor}")
            assert answer.status == 200, answer
            yield from answer.json["messages"]
            cursor = answer.json["next"]

    def status(self):
        answer = self.get("/v1/status")
        assert answer.status == 200, answer
        return answer.json

    # ---- waiting, for what must come ----

    def wait_until(self, is_there, what, limit_s=TIMEOUT_S):
        """Asks until it is; what: for the failure's text."""
        self._wait(is_there, limit_s, what)

    def wait_for(self, name, *states, limit_s=TIMEOUT_S):
        """Until the message is in one of these states (else: delivered or dead). Returns it."""
        found = {}

        def is_there():
            found.update(self.message(name))
            return found["state"] in (states or ("delivered", "dead"))

        self._wait(is_there, limit_s, f"a message {states or 'at its end'}", lambda: found)
        return found

    def wait_until_empty(self, limit_s=TIMEOUT_S):
        """Until nothing waits and nothing is on its way. Returns the status."""
        found = {}

        def is_empty():
            found.update(self.status())
            return found["queue"]["waiting"] + found["queue"]["leased"] == 0

        self._wait(is_empty, limit_s, "empty", lambda: found)
        return found

    def _is_ready(self):
        try:
            return self.get("/readyz").status == 200
        except (OSError, http.client.HTTPException):
            return False

    def _wait(self, is_there, limit_s, what, seen=lambda: ""):
        end = time.monotonic() + limit_s
        pause_s = 0.01
        while not is_there():
            assert self.process.poll() is None, \
                f"it ended with {self.process.returncode}: {self.output()[-4000:]}"
            assert time.monotonic() < end, f"not {what} after {limit_s} s: {seen()}\n{self.output()[-4000:]}"
            time.sleep(pause_s)
            pause_s = min(pause_s * 1.5, 0.25)


class Cutter:
    """A door before a server that cuts the first connections after so many bytes of the answer, as a
    network does: to a client, nothing tells what the server has made of the request.

        with Cutter(serve.port, cuts=[0, 100]) as cutter: ... cutter.url ...
    """

    def __init__(self, port, cuts):
        self._upstream = port
        self._cuts = list(cuts)
        self.connections = 0

    def __enter__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(TIMEOUT_S)

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            cut = self._cuts.pop(0) if self._cuts else None
            threading.Thread(target=self._serve, args=(client, cut), daemon=True).start()

    def _serve(self, client, cut):
        with client, socket.create_connection(("127.0.0.1", self._upstream)) as server:
            threading.Thread(target=self._copy, args=(client, server, None), daemon=True).start()
            self._copy(server, client, cut)

    @staticmethod
    def _copy(source, target, cut):
        """Up to cut bytes; then both ends are closed by whoever owns them."""
        try:
            while cut is None or cut > 0:
                data = source.recv(65536 if cut is None else min(cut, 65536))
                if not data:
                    break
                target.sendall(data)
                cut = None if cut is None else cut - len(data)
            if cut == 0:
                source.recv(1)  # the answer has begun: the server has done its part
            target.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
