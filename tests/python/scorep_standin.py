"""Kernels for which the stand-in is Score-P, and what it saw of them."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

FOLDER = Path(__file__).with_name("standin")


@dataclass
class StandIn:
    folder: Path  # in which the kernel runs
    library: Path

    @property
    def log(self) -> Path:
        return self.folder.parent / "standin.log"

    @property
    def gate(self) -> Path:
        return self.folder.parent / "gate"

    def environment(self, *does: str, bindings: bool = True, config: bool = True) -> dict[str, str]:
        python = os.environ.get("PYTHONPATH")
        paths = [str(FOLDER / "bin"), os.environ["PATH"]] if config else [os.environ["PATH"]]
        known = [*([str(FOLDER)] if bindings else []), *([python] if python else [])]
        return {
            "PATH": os.pathsep.join(paths),
            "PYTHONPATH": os.pathsep.join(known),
            "STANDIN_DOES": " ".join(does),
            "STANDIN_LOG": str(self.log),
            "STANDIN_LIBRARY": str(self.library),
            "STANDIN_GATE": str(self.gate),
        }

    def forget(self) -> None:
        for path in (self.log, self.loaded_log, self.gate):
            path.unlink(missing_ok=True)

    @property
    def loaded_log(self) -> Path:
        return Path(f"{self.log}.loaded")

    def loaded(self) -> list[str]:
        """Command lines of the processes that the library came into."""
        return self.loaded_log.read_text().splitlines()

    def lines(self, what: str | None = None) -> list[dict]:
        if not self.log.exists():
            return []
        lines = map(json.loads, self.log.read_text().splitlines())
        return [line for line in lines if what in (None, line["what"])]

    def names(self) -> list[str]:
        """Functions that were entered, in order; each must have been left, in order."""
        stacks: dict[int, list[str]] = {}
        entered = []
        for line in self.lines():
            stack = stacks.setdefault(line.get("thread", 0), [])
            if line["what"] == "enter":
                stack.append(line["name"])
                entered.append(line["name"])
            elif line["what"] == "exit":
                assert stack.pop() == line["name"]
        assert not any(stacks.values())
        assert not self.lines("stray")
        return entered

    def experiments(self) -> list[Path]:
        return sorted(path for path in self.folder.iterdir() if path.name.startswith("scorep-"))


def build(folder: Path) -> Path:
    """The library. Skips where there is no compiler."""
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler: the stand-in for Score-P has no library to preload")
    library = folder / "libscorep_standin.so"
    source = FOLDER / "library.cpp"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    return library


def make(folder: Path) -> StandIn:
    inner = folder / "notebook"
    inner.mkdir()
    return StandIn(inner, build(folder))
