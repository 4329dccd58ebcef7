"""An engine: the process that runs one cell of a kernel. A launcher starts this file as a script.

First what launchers and Python have put into `sys.path` for a script is taken out again; all else
is `engine_loop`'s. When that returns this script ends, and what the launcher does then, it does.
"""

import sys
from importlib import util
from os import path


def repair_path() -> None:
    """Modules in this file's folder must shadow none of the cell's; the package must be found."""
    folder = path.dirname(path.abspath(__file__))  # noqa: PTH100, PTH120  (pathlib takes 10 ms)
    sys.path[:] = [one for one in sys.path if path.abspath(one) != folder]  # noqa: PTH100
    if "jumper" in sys.modules:
        return
    # By its place: a `jumper.py` in the notebook's folder isn't meant.
    spec = util.spec_from_file_location(
        "jumper",
        path.join(folder, "__init__.py"),  # noqa: PTH118
        submodule_search_locations=[folder],
    )
    if spec is None or spec.loader is None:
        sys.exit(f"jumper: {folder} holds no package")
    package = util.module_from_spec(spec)
    sys.modules["jumper"] = package
    spec.loader.exec_module(package)


if __name__ == "__main__":
    repair_path()
    from jumper.engine_loop import serve

    serve()
