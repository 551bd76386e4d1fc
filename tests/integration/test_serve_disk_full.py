"""The disk becomes full: nothing that was accepted is lost, what is there goes on, new work is told to
come back; and when there is room again, so is the server, by itself (Q1). The disk is a small tmpfs."""

import time

import pytest

from serving import Serve
from sink import Sink
from small_disk import SmallDisk

DISK_MIB = 96
BALLAST = 24 << 20
DUE_S = 5  # after which the first ones are due: by then the disk is full
DUE = 200
BODY = "x" * 60000


@pytest.fixture
def sink(world, tmp_path):
    (tmp_path / "nginx").mkdir()
    target = Sink(tmp_path / "nginx", world.certificates)
    yield target
    target.stop()


@pytest.fixture
def disk(tmp_path):
    with SmallDisk(tmp_path, DISK_MIB) as small:
        small.put_ballast(BALLAST)
        yield small


def problem_of(answer):
    return answer.status, answer.json["type"].rpartition(":")[2]


def fill(serve, message):
    """Posts it again and again. The ids of those that were accepted, and the refusal."""
    accepted = []
    while True:
        answer = serve.post("/v1/messages", message)
        if answer.status != 202:
            return accepted, answer
        accepted.append(answer.json["id"])
        assert len(accepted) < 10000


def events(serve, name):
    return serve.output().count(f'"event":"{name}"')


def wait_until_not_ready(serve):
    """The refusal was on its way before the server's state was told."""
    end = time.monotonic() + 5
    while True:
        answer = serve.get("/readyz")
        if answer.status != 200 or time.monotonic() > end:
            return answer


def check_there(serve, names):
    """Each, by the list that the API gives, and the counts."""
    assert {message["id"] for message in serve.messages("state=waiting")} == set(names)
    assert serve.status()["queue"]["waiting"] == len(names)


def test_a_full_disk_and_room_again(tmp_path, disk, sink):
    later = {"webhook": {"url": sink.url("/m/later")}, "body": BODY, "delay": 3600}
    serve = Serve(tmp_path, store=disk.inside / "lull.db", wrapper=disk.wrapper)
    with serve:
        due = [line["id"] for line in serve.batch(
            [{"webhook": {"url": sink.url(f"/flaky/{i}")}, "body": "x" * 2000, "delay": DUE_S,
              "policy": "webhook base=20ms cap=200ms retries=20 floor=0"} for i in range(DUE)])]
        accepted, refusal = fill(serve, later)
        assert problem_of(refusal) == (503, "disk-full") and int(refusal.headers["Retry-After"]) >= 1
        ready = wait_until_not_ready(serve)
        assert problem_of(ready) == (503, "disk-full") and int(ready.headers["Retry-After"]) >= 1
        assert serve.get("/healthz").status == 200
        status = serve.status()
        assert status["disk_full"] is True and status["queue"]["waiting"] == len(accepted) + len(due)
        assert len(sink.arrivals()) == 0, "the disk was not full soon enough for what comes now"

        for name in due:  # what it has, it delivers: leases, retries and settles find room
            assert serve.wait_for(name)["state"] == "delivered"
        assert {sum(e.status == 201 for e in entries) for entries in sink.arrivals().values()} == {1}
        check_there(serve, accepted)
        batch = serve.post("/v1/messages/batch", "{}", Content_Type="application/x-ndjson")
        assert problem_of(batch) == (503, "disk-full")
        assert (events(serve, "disk_full"), events(serve, "disk_full_over")) == (1, 0)

        disk.take_ballast()
        serve.wait_until_ready(limit_s=10)
        more, _ = fill(serve, later)
        assert len(more) > 50
        check_there(serve, accepted + more)
        assert serve.delete(f"/v1/messages/{accepted[0]}").json["reason"] == "cancelled"  # also when full
        assert events(serve, "disk_full_over") == 1

        serve.kill9()
        serve.launch().wait_for_answer("/healthz")  # it is still full
        check_there(serve, accepted[1:] + more)


def test_a_start_on_a_disk_that_is_full(tmp_path, disk, sink):
    """It starts, says that it is full, delivers, and takes new work when there is room."""
    serve = Serve(tmp_path, store=disk.inside / "lull.db", wrapper=disk.wrapper).start()
    name = serve.accept({"webhook": {"url": sink.url("/m/1")}, "body": "x", "delay": 2})
    serve.kill9()
    while disk.put_ballast(1 << 20):
        pass
    serve.launch()
    assert serve.wait_for_answer("/healthz").status == 200
    assert problem_of(wait_until_not_ready(serve)) == (503, "disk-full")
    assert serve.wait_for(name)["state"] == "delivered"
    disk.take_ballast()
    serve.wait_until_ready(limit_s=10)
    assert serve.wait_for(serve.accept({"webhook": {"url": sink.url("/m/2")}, "body": "x"}))
    serve.stop()


def test_a_start_without_any_room_for_a_new_store(tmp_path, disk):
    """It says so, and leaves nothing behind that a later start would stumble over."""
    while disk.put_ballast(1 << 20):
        pass
    serve = Serve(tmp_path, store=disk.inside / "lull.db", wrapper=disk.wrapper).launch()
    begin = time.monotonic()
    code = serve.wait_for_end()
    assert code == 1 and time.monotonic() - begin < 30
    assert "no space" in serve.output().lower() or "disk is full" in serve.output(), serve.output()
    disk.take_ballast()
    serve.start()
    serve.stop()
