"""``python -m jumper VERB``: makes Jupyter and IPython know us; all other verbs are the program's.

`jumper install` and `jumper enable` come here too, as ``PYTHON -P -m jumper``.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from .session import program, wheel_file

SPEC_FOLDER = ("share", "jupyter", "kernels", "jumper")
STARTUP_FILE = "50-jumper.py"
# Runs in the user's namespace: binds no name. Other environments without jumper share the profile.
STARTUP = """\
# Written by `jumper enable`; `jumper disable` removes it.
try:
    if get_ipython().extension_manager.load_extension("jumper") == "no load function":
        print(
            f"jumper: {__import__('jumper').__file__} hides the package of this name: rename it",
            file=__import__("sys").stderr,
        )
except ModuleNotFoundError:
    pass
"""


def install(options: argparse.Namespace) -> str:
    from jupyter_client.kernelspec import KernelSpecManager  # slow

    template = wheel_file(*SPEC_FOLDER, "kernel.json")
    if template is None:
        raise SystemExit("jumper: the wheel's kernelspec is missing: reinstall jumper-hpc")
    prefix = sys.prefix if options.sys_prefix else options.prefix
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "kernel")
        shutil.copytree(Path(template).parent, source)
        spec = json.loads(Path(template).read_text(encoding="utf-8"))
        spec["argv"][0] = sys.executable
        if options.env:
            spec["env"] = spec.get("env", {}) | dict(options.env)
        (source / "kernel.json").write_text(json.dumps(spec, indent=2) + "\n", encoding="utf-8")
        try:
            place = KernelSpecManager().install_kernel_spec(
                str(source), options.name, user=options.user, prefix=prefix
            )
        except (OSError, ValueError) as error:
            where = (
                "--user or --sys-prefix may be what you want" if not prefix else "choose another"
            )
            raise SystemExit(f"jumper: cannot install the kernel: {error}; {where}") from None
    return f"installed the kernel {options.name!r} in {place}"


def startup_path() -> Path:
    """IPython's own answer differs only where it can't write: it takes a temporary folder there."""
    folder = Path(os.environ.get("IPYTHONDIR") or "~/.ipython").expanduser()
    return folder / "profile_default" / "startup" / STARTUP_FILE


def enable(_: argparse.Namespace) -> str:
    path = startup_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}")  # no .py: IPython must not run it
        draft.write_text(STARTUP, encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        raise SystemExit(f"jumper: cannot enable jumper in {path}: {error.strerror}") from None
    return f"IPython and its notebooks load jumper from now on ({path}); `jumper disable` ends that"


def disable(_: argparse.Namespace) -> str:
    path = startup_path()
    try:
        path.unlink()
    except FileNotFoundError:
        return f"jumper was not enabled ({path} is not there)"
    except OSError as error:
        raise SystemExit(f"jumper: cannot remove {path}: {error.strerror}") from None
    return f"removed {path}: IPython no longer loads jumper by itself"


def setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE")
    return name, value


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="jumper", allow_abbrev=False)
    verbs = top.add_subparsers(required=True)
    verb = verbs.add_parser("install", help="a kernelspec with the absolute path of this Python")
    place = verb.add_mutually_exclusive_group()
    place.add_argument("--user", action="store_true", help="for this user")
    place.add_argument("--prefix", help="under this folder")
    place.add_argument("--sys-prefix", action="store_true", help="in this environment")
    verb.add_argument("--name", default="jumper", help="of the kernel (default: jumper)")
    verb.add_argument("--env", action="append", type=setting, metavar="NAME=VALUE", help="for it")
    verb.set_defaults(run=install)
    verb = verbs.add_parser("enable", help="every IPython of this user loads jumper")
    verb.set_defaults(run=enable)
    verb = verbs.add_parser("disable", help="undoes enable")
    verb.set_defaults(run=disable)
    return top


def warn_of_shadows() -> None:
    """A notebook's own folder comes first in its kernel's search path."""
    ours = Path(__file__).parent
    for path in (Path("jumper.py"), Path("jumper", "__init__.py")):
        if path.exists() and path.resolve().parent != ours:
            what = f"jumper: {path.resolve()} hides the package from notebooks in this folder"
            print(f"{what}: rename it", file=sys.stderr)


def main(arguments: list[str]) -> None:
    if arguments[:1] not in (["install"], ["enable"], ["disable"]):
        path = program()
        if not path:
            raise SystemExit("jumper: the program `jumper` is missing: reinstall jumper-hpc")
        os.execv(path, [path, *arguments])  # noqa: S606
    warn_of_shadows()
    options = parser().parse_args(arguments)
    print(options.run(options))


if __name__ == "__main__":
    main(sys.argv[1:])
