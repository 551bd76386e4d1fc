"""A faulty HTTP/2 peer over TLS, for what a well-behaved server would never do.

Scripted like scripted.Scripted, by path; the steps are those below, and the worse ones of h2_faults.
"""

import select
import time

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings
import hyperframe.frame

from scripted import Listener, Request, head, read_request

Codes = h2.errors.ErrorCodes
SettingCodes = h2.settings.SettingCodes
FAULT_PING = b"received"


class Session:
    """One connection. flush() sends what the engine has ready; raw() what it would refuse to send."""

    def __init__(self, connection, number):
        self.socket = connection
        self.number = number
        self.engine = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        self.bodies = {}
        self.requests = {}
        self.unread = set()  # streams whose window is not opened again
        self.held = []  # streams that are answered after the first that is not
        self.is_pinged = False
        self.is_released = False
        self.unsent = {}  # by stream: what its window has no room for yet
        self._later = []

    def flush(self):
        data = self.engine.data_to_send()
        if data:
            self.socket.sendall(data)

    def raw(self, *frames):
        """Frames, or their bytes, past the engine."""
        self.flush()
        self.socket.sendall(b"".join(f if isinstance(f, bytes) else f.serialize() for f in frames))

    def head(self, stream_id, headers, is_end=False):
        """A HEADERS frame that the engine would refuse; its compression keeps in step."""
        block = self.engine.encoder.encode(headers)
        flags = ["END_HEADERS", "END_STREAM"] if is_end else ["END_HEADERS"]
        return hyperframe.frame.HeadersFrame(stream_id, data=block, flags=flags)

    def later(self, seconds, action):
        self._later.append((time.monotonic() + seconds, action))

    def wait(self):
        """True: there is something to read. False: an action was due, or a moment has passed."""
        if self.socket.pending():
            return True
        due = min((due for due, _ in self._later), default=time.monotonic() + 1)
        ready, _, _ = select.select([self.socket], [], [], max(due - time.monotonic(), 0))
        if ready:
            return True
        now = time.monotonic()
        for action in [action for due, action in self._later if due <= now]:
            action()
        self._later = [(due, action) for due, action in self._later if due > now]
        self.flush()
        return False

    def release(self):
        """Answers those that were held, and from now on any that comes."""
        self.is_released = True
        for stream_id in self.held:
            answer(201)(self, stream_id)
        self.held = []

    def send(self, stream_id, body, is_end=True, padding=None):
        """Now, and the rest as the windows open. The stream may be gone by then."""
        self.unsent.pop(stream_id, None)
        extra = 0 if padding is None else padding + 1
        try:
            while True:
                room = min(self.engine.local_flow_control_window(stream_id),
                           self.engine.max_outbound_frame_size) - extra
                piece, rest = body[:max(room, 0)], body[max(room, 0):]
                if room < 0 or (body and not piece):
                    self.unsent[stream_id] = (body, is_end, padding)
                    return
                self.engine.send_data(stream_id, piece, is_end and not rest, padding)
                body = rest
                if not body:
                    return
        except h2.exceptions.ProtocolError:
            pass

    def reset(self, stream_id, code):
        """Even if the stream is over."""
        self.raw(hyperframe.frame.RstStreamFrame(stream_id, error_code=code))


class H2Peer(Listener):
    """opening: what each connection begins with, in turn; the last one stays. A client that chooses
    HTTP/1.1 is answered 201."""

    def __init__(self, context, *openings):
        self._openings = list(openings) or [settings()]
        self.h1_requests = []
        self.resets = []  # by the client: stream and code
        self.errors = 0  # connections on which the client broke the protocol
        super().__init__(context)

    def serve(self, connection, number):
        if connection.selected_alpn_protocol() == "http/1.1":
            return self._serve_h1(connection, number)
        session = Session(connection, number)
        opening = self._openings.pop(0) if len(self._openings) > 1 else self._openings[0]
        if opening(session) is False:
            return None
        while not self.is_stopped.is_set():
            if not session.wait():
                continue
            data = connection.recv(65536)
            if not data:
                return None
            try:
                events = session.engine.receive_data(data)
            except h2.exceptions.ProtocolError:
                self.errors += 1
                session.flush()
                return None
            for event in events:
                if not self._handle(session, event):
                    session.flush()
                    return None
            session.flush()
        return None

    def _serve_h1(self, connection, number):
        reader = connection.makefile("rb")
        while request := read_request(connection, reader, number):
            self.h1_requests.append(request)
            connection.sendall(head(201, (), 0))

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
            self._give_back(session, event)
        elif isinstance(event, h2.events.StreamEnded):
            if event.stream_id in session.requests:
                return self._act(session, event.stream_id)
        elif isinstance(event, (h2.events.WindowUpdated, h2.events.RemoteSettingsChanged)):
            for stream_id, waiting in list(session.unsent.items()):
                session.send(stream_id, *waiting)
        elif isinstance(event, h2.events.StreamReset):
            session.unsent.pop(event.stream_id, None)
            self.resets.append((event.stream_id, event.error_code))
        elif isinstance(event, h2.events.PingAckReceived):
            if event.ping_data == FAULT_PING:
                session.release()
        elif isinstance(event, h2.events.ConnectionTerminated):
            return False
        return True

    @staticmethod
    def _give_back(session, event):
        """Opens the windows again by what has arrived."""
        length = event.flow_controlled_length
        try:
            if event.stream_id in session.unread:
                if length > 0:
                    session.engine.increment_flow_control_window(length)
                return
            session.engine.acknowledge_received_data(length, event.stream_id)
        except h2.exceptions.ProtocolError:
            pass  # the stream is over

    def _act(self, session, stream_id):
        step, headers, arrived = session.requests.pop(stream_id)
        self.record(Request(arrived, headers[":method"], headers[":path"], headers,
                            session.bodies.pop(stream_id), session.number, step.is_accepted))
        if step.is_unread:
            session.unread.add(stream_id)
        if not step(session, stream_id):
            return False
        if not step.is_held and not session.is_pinged:
            session.is_pinged = True
            session.engine.ping(FAULT_PING)  # when it is answered, the client has read the fault
        return True


# ---- openings: what a connection begins with; False: and ends with ----


def settings(**values):
    """values: those of h2.settings.SettingCodes, in lower case."""

    def opening(session):
        session.engine.local_settings = h2.settings.Settings(client=False, initial_values={
            SettingCodes.MAX_CONCURRENT_STREAMS: 100,
            **{SettingCodes[name.upper()]: value for name, value in values.items()}})
        session.engine.initiate_connection()
        session.flush()

    return opening


# ---- steps ----


class Step:
    def __init__(self, run, is_accepted=True, is_early=False, is_held=False, is_unread=False):
        self._run = run
        self.is_unread = is_unread
        self.is_accepted = is_accepted
        self.is_held = is_held
        self.is_early = is_early  # acts on the headers, before the body was read

    def __call__(self, session, stream_id):
        return self._run(session, stream_id) is not False


def answer(status, body=b"ok\n", headers=(), is_early=False):
    def run(session, stream_id):
        session.engine.send_headers(stream_id, [(":status", str(status)),
                                                ("content-length", str(len(body))), *headers])
        session.send(stream_id, body)

    return Step(run, is_early=is_early)


def held():
    """A neighbour: 201, but only once the client has read what another stream of the connection did."""

    def run(session, stream_id):
        session.held.append(stream_id)
        if session.is_released:
            session.release()

    return Step(run, is_held=True)


def reset_stream(code, is_accepted=True):
    return Step(lambda session, stream_id: session.reset(stream_id, code), is_accepted=is_accepted)


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
        session.reset(stream_id, Codes.NO_ERROR)

    return Step(run, is_early=True)


def created_then_broken():
    """The head of a 201, and then the stream is torn down."""

    def run(session, stream_id):
        session.engine.send_headers(stream_id, [(":status", "201")])
        session.flush()
        time.sleep(0.05)
        session.reset(stream_id, Codes.INTERNAL_ERROR)

    return Step(run)


def slow_body(wait_s, body=b"ok\n"):
    """The head at once, the body later."""

    def run(session, stream_id):
        session.engine.send_headers(stream_id, [(":status", "200")])
        session.flush()
        time.sleep(wait_s)
        session.engine.send_data(stream_id, body, end_stream=True)

    return Step(run)


def half(status=200, sent=1000, length=5000):
    """Half a response, then RST_STREAM."""

    def run(session, stream_id):
        session.engine.send_headers(stream_id, [(":status", str(status)),
                                                ("content-length", str(length))])
        session.engine.send_data(stream_id, b"x" * sent)
        session.flush()
        time.sleep(0.05)
        session.reset(stream_id, Codes.INTERNAL_ERROR)

    return Step(run)
