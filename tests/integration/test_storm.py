"""A small storm: what must hold however busy the machine is. The big one is bench/storm.py."""

import sys

import pytest

from fetching import PROGRAM, ROOT

sys.path.insert(0, str(ROOT / "bench"))

import storm  # noqa: E402

CLIENTS = 60
OUTAGE_S = 3


@pytest.fixture(scope="module")
def seen():
    return storm.run_storm(storm.ways(PROGRAM)["lull base=1s"], CLIENTS, OUTAGE_S)


def test_each_client_delivers_or_gives_up(seen):
    assert sum(seen.exits.values()) == CLIENTS
    assert set(seen.exits) <= {0, storm.LULL_EXIT_GAVE_UP}
    assert seen.exits[0] == seen.delivered


def test_no_client_sends_more_than_it_may(seen):
    assert len(seen.per_client) == CLIENTS
    assert max(seen.per_client.values()) <= storm.RETRIES + 1
    assert seen.total <= CLIENTS * (storm.RETRIES + 1)
