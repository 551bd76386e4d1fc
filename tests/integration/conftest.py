"""The servers of the suite, started once, and a fresh path for each test."""

import itertools

import pytest

from servers import World

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def world():
    with World() as servers:
        yield servers


@pytest.fixture
def path():
    return f"/t{next(_numbers)}"
