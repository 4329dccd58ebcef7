"""Programs of the user's that we start: found by PATH, but never in the working directory."""

import os
import shutil
from typing import Final

PATH: Final = "PATH"


def path_without_here(path: str | None = None) -> str:
    """PATH without what depends on the working directory."""
    if path is None:
        path = os.environ.get(PATH, os.defpath)
    return os.pathsep.join(one for one in path.split(os.pathsep) if os.path.isabs(one))  # noqa: PTH117


def find(name: str) -> str | None:
    """Its path, if it can be executed."""
    return shutil.which(name, path=path_without_here())
