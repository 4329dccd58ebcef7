"""Every kind of value is the same in the other process, and the same object afterwards."""

import os

import pytest
from state_pair import WAYS, Pair, Shell
from state_values import DESCRIBE, PRELUDE, VALUES

ASSIGN = "\n".join(f"v_{name} = {expression}" for name, expression in VALUES.items())
LOOK = """
seen, used = {}, {}
for name in NAMES:
    value = globals()["v_" + name]
    seen[name] = describe(value)
    if name in USES:
        used[name] = describe(USES[name](value))
"""
AGAIN = LOOK.replace("seen,", "again,").replace("used =", "used_again =")
AGAIN = AGAIN.replace("seen[", "again[").replace("used[", "used_again[")
ANEW = {"count"}  # iterators can't be set back or forth in place


def prepare(run):
    os.environ.pop("PYTEST_CURRENT_TEST", None)  # is another's each time; "environ" looks at it
    run(PRELUDE)
    run(DESCRIBE)
    run(f"NAMES = {list(VALUES)}")
    run(ASSIGN)


@pytest.fixture(scope="module")
def plain():
    import sys

    shell, main = Shell(), sys.modules["__main__"]
    sys.modules["__main__"] = shell.user_module
    prepare(shell.run)
    shell.run(LOOK)
    shell.run(AGAIN)
    yield shell.user_ns
    sys.modules["__main__"] = main


@pytest.fixture(scope="module", params=WAYS)
def carried(plain, request):
    with Pair(**WAYS[request.param]) as pair:
        prepare(pair.here)
        before = {name: pair["v_" + name] for name in VALUES}
        pair.there(LOOK)
        same = {name: pair["v_" + name] is value for name, value in before.items()}
        pair.here(AGAIN)
        yield pair, same


def test_nothing_has_stayed(carried):
    pair, _ = carried
    assert pair.left == {}
    assert pair.lost == {}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_is(name, plain, carried):
    pair, same = carried
    assert pair["seen"][name] == plain["seen"][name]
    assert pair["used"].get(name) == plain["used"].get(name)
    assert pair["again"][name] == plain["again"][name]
    assert pair["used_again"].get(name) == plain["used_again"].get(name)
    if name not in ANEW:
        assert same[name]
