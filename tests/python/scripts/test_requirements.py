from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def test_every_requirement_is_bounded(script):
    module = script("requirements")
    lines = module.requirements(
        ROOT / "pyproject.toml", ["build", "run", "test", "lab", "browser", "lint", "docs", "bench"]
    )
    assert len(lines) > 10
    assert [line for line in lines if ">=" not in line] == []


def test_an_unknown_extra_is_an_error(script):
    with pytest.raises(KeyError):
        script("requirements").requirements(ROOT / "pyproject.toml", ["nothing"])
