"""What must hold for lull in the comparison, and that the page in docs/ tells the same."""

import pytest

import compare

NAMES = [fault.name for fault in compare.FAULTS]


@pytest.fixture(scope="module")
def rows(world):
    return compare.run_all(world)


def test_there_are_twenty_faults():
    assert len(set(NAMES)) == 20


@pytest.mark.parametrize("fault", compare.FAULTS, ids=NAMES)
def test_lull(rows, fault):
    row = rows[fault.name, compare.LULL]
    assert row.early in ("-", "no")
    assert row.duplicates == 0
    assert row.is_delivered == fault.is_possible
    assert row.attempts <= 4


@pytest.mark.parametrize("name", NAMES)
def test_the_page_tells_the_same_of_lull(rows, name):
    told = compare.read_page(compare.PAGE.read_text())
    assert told[name, compare.LULL][:6] == compare.cells(rows[name, compare.LULL])[:6]


def test_the_page_has_these_faults_and_tools():
    told = compare.read_page(compare.PAGE.read_text())
    assert set(told) == {(name, tool) for name in NAMES for tool in compare.TOOLS}
