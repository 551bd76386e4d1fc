"""A scripted HTTP/1.1 server: what it does with the n-th request of a path is said beforehand.

    server = Scripted(folder)
    server.script("/busy", answer(503), answer(503), answer(200))
    ... a client asks http://127.0.0.1:{server.port}/busy ...
    server.requests("/busy")        what arrived, with its time, headers and body
    server.stop()

A script is a list of steps; the last one stays. Beyond answers, a step can reset, close, hang, drip
or talk nonsense. One thread per connection, all on loopback.
"""

import collections
import socket
import ssl
import struct
import threading
import time
from typing import NamedTuple

HEAD_MAX = 64 * 1024
IDLE_S = 30


class Request(NamedTuple):
    time: float
    method: str
    path: str
    headers: dict  # names in lower case
    body: bytes
    connection: int  # counts from 1
    is_accepted: bool = True  # False: the peer said that it was not processed


class Script:
    """The steps of each path, and what arrived. Shared by the HTTP/1.1 and the HTTP/2 server."""

    def __init__(self):
        self._lock = threading.Lock()
        self._steps = {}
        self._requests = collections.defaultdict(list)
        self.connections = 0

    def script(self, path, *steps):
        with self._lock:
            self._steps[path] = list(steps)
        return path

    def requests(self, path):
        with self._lock:
            return list(self._requests[path])

    def next_step(self, path):
        with self._lock:
            steps = self._steps.get(path, [])
            if len(steps) > 1:
                return steps.pop(0)
            return steps[0] if steps else None

    def record(self, request):
        with self._lock:
            self._requests[request.path].append(request)

    def count_connection(self):
        with self._lock:
            self.connections += 1
            return self.connections


class Listener(Script):
    """Accepts on a free port of loopback and gives each connection a thread."""

    def __init__(self, context=None):
        super().__init__()
        self.context = context
        self.is_stopped = threading.Event()
        self._open = set()
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while not self.is_stopped.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            number = self.count_connection()
            threading.Thread(target=self._run, args=(connection, number), daemon=True).start()

    def _run(self, connection, number):
        connection.settimeout(IDLE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._open.add(connection)
        try:
            if self.context:
                self._open.discard(connection)
                connection = self.context.wrap_socket(connection, server_side=True)
                self._open.add(connection)
            self.serve(connection, number)
        except (OSError, ssl.SSLError, ValueError):
            pass  # the client went away, or a step has closed it
        finally:
            self._open.discard(connection)
            connection.close()

    def serve(self, connection, number):
        raise NotImplementedError

    def stop(self):
        self.is_stopped.set()
        self._socket.close()
        for connection in list(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Scripted(Listener):
    def serve(self, connection, number):
        reader = connection.makefile("rb")
        while not self.is_stopped.is_set():
            request = read_request(connection, reader, number)
            if request is None:
                return
            self.record(request)
            step = self.next_step(request.path)
            if step is None:
                step = answer(404)
            if not step(self, connection, request):
                return


def read_request(connection, reader, number):
    line = reader.readline(HEAD_MAX)
    if not line:
        return None
    arrived = time.time()
    method, path, _ = line.decode("latin-1").split(" ", 2)
    headers = {}
    while True:
        line = reader.readline(HEAD_MAX).decode("latin-1").strip()
        if not line:
            break
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    if headers.get("expect", "").lower() == "100-continue":
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    return Request(arrived, method, path, headers, read_body(reader, headers), number)


def read_body(reader, headers):
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = b""
        while True:
            size = int(reader.readline(HEAD_MAX).split(b";")[0] or b"0", 16)
            body += reader.read(size)
            reader.readline(HEAD_MAX)
            if size == 0:
                return body
    return reader.read(int(headers.get("content-length", 0)))


# ---- steps: what is done with one request; True: the connection lives on ----


def head(status, headers, length):
    lines = [f"HTTP/1.1 {status} Scripted", f"Content-Length: {length}"]
    lines += [f"{name}: {value}" for name, value in headers]
    return "\r\n".join(lines + ["", ""]).encode("latin-1")


def answer(status, headers=(), body=b"ok\n"):
    """headers: pairs, or a function of the time that yields them."""

    def step(server, connection, request):
        pairs = headers(time.time()) if callable(headers) else headers
        content = b"" if status in (204, 304) else body
        connection.sendall(head(status, pairs, len(content)) +
                           (b"" if request.method == "HEAD" else content))
        return True

    return step


def abort(connection):
    """Ends it with a TCP reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    if isinstance(connection, ssl.SSLSocket):
        socket.socket(fileno=connection.detach()).close()
    else:
        # The reader made by makefile() keeps the descriptor open: shut the door on it too.
        raw = socket.socket(fileno=connection.detach())
        raw.close()


def reset():
    def step(server, connection, request):
        abort(connection)
        return False

    return step


def reset_in_body(status=200, sent=1000, length=5000):
    def step(server, connection, request):
        connection.sendall(head(status, (), length) + b"x" * sent)
        time.sleep(0.1)  # so that what was sent is read before the reset throws it away
        abort(connection)
        return False

    return step


def close():
    return lambda server, connection, request: False


def close_in_body(status=200, sent=1000, length=5000):
    def step(server, connection, request):
        connection.sendall(head(status, (), length) + b"x" * sent)
        return False

    return step


def hang(seconds=IDLE_S):
    """Says nothing until the client goes away."""

    def step(server, connection, request):
        connection.settimeout(seconds)
        connection.recv(1)
        return False

    return step


def slow(pieces=5, pause_s=0.2, piece=b"0123456789"):
    def step(server, connection, request):
        connection.sendall(head(200, (), pieces * len(piece)))
        for _ in range(pieces):
            time.sleep(pause_s)
            connection.sendall(piece)
        return True

    return step


def garbage():
    def step(server, connection, request):
        connection.sendall(b"\x00\x01\x02 this is no HTTP \xff\xfe\r\n\r\n")
        return False

    return step
