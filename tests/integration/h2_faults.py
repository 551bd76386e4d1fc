"""The worse steps and openings of h2_peer.H2Peer: much of this no HTTP/2 library would send, so it goes
out frame by frame."""

import random
import struct
import time

import h2.exceptions
from hyperframe.frame import (ContinuationFrame, DataFrame, GoAwayFrame, HeadersFrame, PingFrame,
                              PriorityFrame, PushPromiseFrame, RstStreamFrame, SettingsFrame,
                              WindowUpdateFrame)

from h2_peer import Codes, SettingCodes, Step, answer, reset_stream
from scripted import abort

LAST_ID_MAX = 2**31 - 1
WINDOW_MAX = 2**31 - 1
PAUSE_S = 0.05  # so that what was sent is read before the connection ends


def frames(make, is_early=False, does_end=False):
    """A step that sends make(session, stream_id), a list of frames, past the engine."""

    def run(session, stream_id):
        session.raw(*make(session, stream_id))
        if does_end:
            time.sleep(PAUSE_S)
            return False
        return True

    return Step(run, is_early=is_early)


def ended(stream_id, data=b"ok\n"):
    return DataFrame(stream_id, data=data, flags=["END_STREAM"])


# ---- streams that end early ----


def enhance_your_calm():
    return reset_stream(Codes.ENHANCE_YOUR_CALM)


def http_1_1_required():
    return reset_stream(Codes.HTTP_1_1_REQUIRED, is_accepted=False)


def reset_early(code, is_accepted=True):
    """Before the body was read."""
    step = reset_stream(code, is_accepted)
    step.is_early = True
    return step


def hints_then_reset():
    def run(session, stream_id):
        session.engine.send_headers(stream_id, [(":status", "103"), ("link", "</a>; rel=preload")])
        session.reset(stream_id, Codes.CANCEL)

    return Step(run)


def hang(is_early=False):
    """Early: the body is not read, either."""
    return Step(lambda session, stream_id: True, is_early=is_early, is_unread=is_early)


def late(seconds, status=201):
    """An answer to a stream that the client may have given up by then."""

    def answer_late(session, stream_id):
        try:
            answer(status)(session, stream_id)
        except h2.exceptions.ProtocolError:  # it has: say it nevertheless
            session.raw(session.head(stream_id, [(":status", str(status))], is_end=True))

    return Step(lambda session, stream_id: session.later(
        seconds, lambda: answer_late(session, stream_id)))


# ---- answers out of the ordinary ----


def hints(count, status=103):
    """Informational answers, and then 201."""

    def run(session, stream_id):
        for _ in range(count):
            session.engine.send_headers(stream_id, [(":status", str(status)),
                                                    ("link", "</a>; rel=preload")])
        answer(201)(session, stream_id)

    return Step(run)


def hints_and_end():
    return frames(lambda session, stream_id: [session.head(stream_id, [(":status", "103")], True)])


def switching():
    """101, which HTTP/2 does not have."""
    return frames(lambda session, stream_id: [session.head(stream_id, [(":status", "101")]),
                                              ended(stream_id)])


def trailers():
    def run(session, stream_id):
        session.engine.send_headers(stream_id, [(":status", "201")])
        session.engine.send_data(stream_id, b"ok\n")
        session.engine.send_headers(stream_id, [("x-trailer", "1"), ("x-other", "2")],
                                    end_stream=True)

    return Step(run)


def bad_trailers():
    return frames(lambda session, stream_id: [
        session.head(stream_id, [(":status", "201")]), DataFrame(stream_id, data=b"ok\n"),
        session.head(stream_id, [(":status", "500")], True)])


def status_alone():
    """All that there is in one frame."""
    return frames(lambda session, stream_id: [session.head(stream_id, [(":status", "201")], True)])


def early_unread():
    """A whole 201 at the sight of the headers; the stream's window is never opened again."""

    def run(session, stream_id):
        session.engine.send_headers(stream_id, [(":status", "201")], end_stream=True)

    return Step(run, is_early=True, is_unread=True)


def padded(data=b"ok\n", padding=255):
    def run(session, stream_id):
        session.engine.send_headers(stream_id, [(":status", "201")])
        session.send(stream_id, data, padding=padding)

    return Step(run)


def big(length, status=200, is_end=True):
    """A body of this length, as fast as the windows allow. Without its end: it has more to come."""

    def run(session, stream_id):
        session.engine.send_headers(stream_id, [(":status", str(status))])
        session.send(stream_id, b"x" * length, is_end)

    return Step(run)


def stalled(status=200):
    """A head and half a body, and nothing more."""

    def run(session, stream_id):
        session.engine.send_headers(stream_id, [(":status", str(status)), ("content-length", "6")])
        session.engine.send_data(stream_id, b"ok\n")

    return Step(run)


def cut(status=200):
    """As stalled(), and the connection ends with a TCP reset."""

    def run(session, stream_id):
        stalled(status)(session, stream_id)
        session.flush()
        time.sleep(PAUSE_S)
        abort(session.socket)
        return False

    return Step(run)


def vanish(is_reset=False):
    """The connection ends without a word."""

    def run(session, stream_id):
        if is_reset:
            abort(session.socket)
        return False

    return Step(run)


# ---- too much of it ----


def many_headers(count, size, status=201):
    """In one block: HEADERS and as many CONTINUATIONs as it takes. The values do not compress."""
    letters = random.Random(7)

    def make(session, stream_id):
        # These take 8 bits each in Huffman's code.
        fields = [(f"x-{i}", "".join(letters.choices("&*,;XZ", k=size))) for i in range(count)]
        block = session.engine.encoder.encode([(":status", str(status)), *fields])
        pieces = [block[i:i + 16384] for i in range(0, len(block), 16384)]
        sent = [HeadersFrame(stream_id, data=pieces[0])]
        sent += [ContinuationFrame(stream_id, data=piece) for piece in pieces[1:]]
        sent[-1].flags.add("END_HEADERS")
        return [*sent, ended(stream_id)]

    return frames(make)


def hpack_bomb(count=10000):
    """One field of 3.9 KB, and then a byte for each time that it is repeated."""

    def make(session, stream_id):
        block = session.engine.encoder.encode([(":status", "201"), ("x-bomb", "b" * 3900)])
        return [HeadersFrame(stream_id, data=block + b"\xbe" * count, flags=["END_HEADERS"]),
                ended(stream_id)]

    return frames(make)


def flood(frame, count):
    """A 201 after so many frames that ask for an answer of their own."""

    def run(session, stream_id):
        session.raw(*[frame.serialize()] * count)
        answer(201)(session, stream_id)

    return Step(run)


def ping_flood(count):
    return flood(PingFrame(0, opaque_data=b"floodedx"), count)


def settings_flood(count):
    return flood(SettingsFrame(0, settings={SettingCodes.MAX_FRAME_SIZE: 16384}), count)


def empty_data_flood(count):
    """DATA of no length, which costs no window."""
    return frames(lambda session, stream_id: [
        session.head(stream_id, [(":status", "201")]), *[DataFrame(stream_id)] * count,
        ended(stream_id)])


# ---- streams that break the rules ----


def upper_case_name():
    return frames(lambda session, stream_id: [
        session.head(stream_id, [(":status", "201"), ("X-Upper", "1")]), ended(stream_id)])


def bad_name():
    return frames(lambda session, stream_id: [
        session.head(stream_id, [(":status", "201"), ("x bad", "1")]), ended(stream_id)])


def bad_value():
    return frames(lambda session, stream_id: [
        session.head(stream_id, [(":status", "201"), ("x-bad", "a\r\nset-cookie: b")]),
        ended(stream_id)])


def bad_pseudo_header():
    return frames(lambda session, stream_id: [
        session.head(stream_id, [(":status", "201"), (":bogus", "1")]), ended(stream_id)])


def no_status():
    return frames(lambda session, stream_id: [session.head(stream_id, [("x-status", "201")]),
                                              ended(stream_id)])


def bad_status(text):
    return frames(lambda session, stream_id: [session.head(stream_id, [(":status", text)]),
                                              ended(stream_id)])


def two_statuses():
    return frames(lambda session, stream_id: [
        session.head(stream_id, [(":status", "201"), (":status", "500")]), ended(stream_id)])


def wrong_length(length, data):
    return frames(lambda session, stream_id: [
        session.head(stream_id, [(":status", "201"), ("content-length", str(length))]),
        ended(stream_id, data)])


def data_before_headers():
    return frames(lambda session, stream_id: [
        DataFrame(stream_id, data=b"x"), session.head(stream_id, [(":status", "201")], True)])


def stream_window_overflow():
    return frames(lambda session, stream_id: [WindowUpdateFrame(stream_id,
                                                                window_increment=WINDOW_MAX)])


def unknown_frames():
    """Which are to be ignored, and a 201."""

    def run(session, stream_id):
        session.raw(struct.pack(">HBBBL", 0, 8, 0xbb, 0x5, stream_id) + b"what is?",
                    struct.pack(">HBBBL", 0, 3, 0xbc, 0, 0) + b"and",
                    PriorityFrame(stream_id, depends_on=0, stream_weight=3),
                    SettingsFrame(0, settings={0xabcd: 5}))
        answer(201)(session, stream_id)

    return Step(run)


# ---- what takes the connection along ----


def connection_window_overflow():
    return frames(lambda session, stream_id: [WindowUpdateFrame(0, window_increment=WINDOW_MAX)])


def bad_compression():
    return frames(lambda session, stream_id: [
        HeadersFrame(stream_id, data=b"\xff\xff\xff\xff\xff\xff", flags=["END_HEADERS"])])


def oversized_frame():
    return frames(lambda session, stream_id: [DataFrame(stream_id, data=b"x" * 20000)])


def push():
    def make(session, stream_id):
        block = session.engine.encoder.encode([
            (":method", "GET"), (":scheme", "https"), (":authority", "x"), (":path", "/")])
        return [PushPromiseFrame(stream_id, promised_stream_id=2, data=block,
                                 flags=["END_HEADERS"])]

    return frames(make)


def broken_continuation():
    """Another frame in the middle of a header block."""
    return frames(lambda session, stream_id: [HeadersFrame(stream_id, data=b"\x88"),
                                              PingFrame(0, opaque_data=b"notnow!!")])


def idle_stream():
    """An answer on a stream that the client never opened."""
    return frames(lambda session, stream_id: [RstStreamFrame(stream_id + 100, error_code=2)])


def garbage():
    return frames(lambda session, stream_id: [b"HTTP/1.1 400 Bad Request\r\n\r\n" * 10],
                  does_end=True)


# ---- GOAWAY ----


def goaway(last_id=None, code=Codes.NO_ERROR, does_answer=False):
    """last_id None: that of this stream. The connection ends with it, if anything is answered then
    after that."""

    def run(session, stream_id):
        last = stream_id if last_id is None else last_id
        session.raw(GoAwayFrame(0, last_stream_id=last, error_code=code))
        if does_answer:
            for held in [held for held in session.held if held <= last]:
                answer(201)(session, held)
            if stream_id <= last:
                answer(201)(session, stream_id)
            session.flush()
        time.sleep(PAUSE_S)
        return False

    return Step(run, is_accepted=last_id is None)


def drain(seconds=0.2):
    """A graceful end: GOAWAY with the highest id, then one with this stream's, and only after a while
    the answers to all that came, and the end."""

    def run(session, stream_id):
        def finish():
            session.release()
            answer(201)(session, stream_id)

        session.raw(GoAwayFrame(0, last_stream_id=LAST_ID_MAX, error_code=Codes.NO_ERROR))
        session.later(seconds / 2, lambda: session.raw(
            GoAwayFrame(0, last_stream_id=stream_id, error_code=Codes.NO_ERROR)))
        session.later(seconds, finish)

    return Step(run, is_held=True)


# ---- SETTINGS under way ----


def set_streams(*counts, pause_s=0.1):
    """MAX_CONCURRENT_STREAMS becomes each of these in turn; and a 201. The engine of the peer ends the
    connection of a client that does not keep to it."""

    def change(session, count):
        session.engine.update_settings({SettingCodes.MAX_CONCURRENT_STREAMS: count})

    def run(session, stream_id):
        change(session, counts[0])
        for i, count in enumerate(counts[1:], 1):
            session.later(i * pause_s, lambda count=count: change(session, count))
        answer(201)(session, stream_id)

    return Step(run)


def set_window(size):
    """INITIAL_WINDOW_SIZE, at the sight of the headers; a 201 when all has arrived."""

    def run(session, stream_id):
        session.engine.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: size})
        answer(201)(session, stream_id)

    return Step(run)


# ---- openings ----


def silence(session):
    """No SETTINGS, nothing, until the client goes away."""
    session.socket.recv(1 << 20)
    while session.socket.recv(1 << 20):
        pass
    return False


def close_at_once(session):
    return False


def garbage_at_once(session):
    session.socket.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n" * 3)
    return silence(session)


def goaway_at_once(last_id=0, code=Codes.NO_ERROR):
    def opening(session):
        session.engine.initiate_connection()
        session.raw(session.engine.data_to_send(),
                    GoAwayFrame(0, last_stream_id=last_id, error_code=code))

    return opening


def pings_at_once(count):
    def opening(session):
        session.engine.initiate_connection()
        session.raw(*[PingFrame(0, opaque_data=b"floodedx").serialize()] * count)

    return opening
