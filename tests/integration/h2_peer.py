"""A faulty HTTP/2 peer over TLS, for what a well-behaved server would never do.

Scripted like scripted.Scripted, by path; the steps are those below.
"""

import time

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions

from scripted import Listener, Request

Codes = h2.errors.ErrorCodes


class Session:
    """One connection. flush() sends what the engine has ready."""

    def __init__(self, connection, number):
        self.socket = connection
        self.number = number
        self.engine = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        self.bodies = {}
        self.requests = {}

    def flush(self):
        data = self.engine.data_to_send()
        if data:
            self.socket.sendall(data)


class H2Peer(Listener):
    def serve(self, connection, number):
        session = Session(connection, number)
        session.engine.initiate_connection()
        session.flush()
        while not self.is_stopped.is_set():
            data = connection.recv(65536)
            if not data:
                return
            try:
                events = session.engine.receive_data(data)
            except h2.exceptions.ProtocolError:
                session.flush()
                return
            for event in events:
                if not self._handle(session, event):
                    session.flush()
                    return
            session.flush()

    def _handle(self, session, event):
        if isinstance(event, h2.events.RequestReceived):
            headers = dict(event.headers)
            step = self.next_step(headers[":path"]) or answer(404)
            session.bodies[event.stream_id] = b""
            session.requests[event.stream_id] = (step, headers, time.time())
            if step.is_early:
                return self._act(session, event.stream_id)
        elif isinstance(event, h2.events.DataReceived):
            if event.stream_id in session.requests:
                session.bodies[event.stream_id] += event.data
                session.engine.acknowledge_received_data(event.flow_controlled_length,
                                                         event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            if event.stream_id in session.requests:
                return self._act(session, event.stream_id)
        elif isinstance(event, h2.events.ConnectionTerminated):
            return False
        return True

    def _act(self, session, stream_id):
        step, headers, arrived = session.requests.pop(stream_id)
        self.record(Request(arrived, headers[":method"], headers[":path"], headers,
                            session.bodies.pop(stream_id), session.number, step.is_accepted))
        return step(session, stream_id)


class Step:
    def __init__(self, run, is_accepted=True, is_early=False):
        self._run = run
        self.is_accepted = is_accepted
        self.is_early = is_early  # acts on the headers, before the body was read

    def __call__(self, session, stream_id):
        return self._run(session, stream_id) is not False


def answer(status, body=b"ok\n", headers=(), is_early=False):
    def run(session, stream_id):
        session.engine.send_headers(stream_id, [(":status", str(status)),
                                                ("content-length", str(len(body))), *headers])
        session.engine.send_data(stream_id, body, end_stream=True)

    return Step(run, is_early=is_early)


def reset_stream(code, is_accepted=True):
    return Step(lambda session, stream_id: session.engine.reset_stream(stream_id, code),
                is_accepted=is_accepted)


def refuse():
    return reset_stream(Codes.REFUSED_STREAM, is_accepted=False)


def cancel():
    return reset_stream(Codes.CANCEL)


def internal_error():
    return reset_stream(Codes.INTERNAL_ERROR)


def goaway_unprocessed():
    """GOAWAY with last id 0: nothing of this connection was processed."""

    def run(session, stream_id):
        session.engine.close_connection(Codes.NO_ERROR, last_stream_id=0)
        session.flush()
        time.sleep(0.05)
        return False

    return Step(run, is_accepted=False)


def answer_and_goaway(status=200, body=b"ok\n"):
    """A whole answer, and the connection is over: the next request needs a new one."""

    def run(session, stream_id):
        answer(status, body)(session, stream_id)
        session.engine.close_connection(Codes.NO_ERROR, last_stream_id=stream_id)
        session.flush()
        time.sleep(0.05)
        return False

    return Step(run)


def created_then_reset():
    """A whole 201 while the body is still on its way, then RST_STREAM (NO_ERROR): stop sending."""

    def run(session, stream_id):
        session.engine.send_headers(stream_id, [(":status", "201"), ("content-length", "0")],
                                    end_stream=True)
        session.flush()
        session.engine.reset_stream(stream_id, Codes.NO_ERROR)

    return Step(run, is_early=True)


def created_then_broken():
    """The head of a 201, and then the stream is torn down."""

    def run(session, stream_id):
        session.engine.send_headers(stream_id, [(":status", "201")])
        session.flush()
        time.sleep(0.05)
        session.engine.reset_stream(stream_id, Codes.INTERNAL_ERROR)

    return Step(run)


def half(status=200, sent=1000, length=5000):
    """Half a response, then RST_STREAM."""

    def run(session, stream_id):
        session.engine.send_headers(stream_id, [(":status", str(status)),
                                                ("content-length", str(length))])
        session.engine.send_data(stream_id, b"x" * sent)
        session.flush()
        time.sleep(0.05)
        session.engine.reset_stream(stream_id, Codes.INTERNAL_ERROR)

    return Step(run)
