"""As the real ones are called: `python -m scorep [OPTIONS] SCRIPT [ARGUMENTS]`."""

import os
import subprocess
import sys
from pathlib import Path

from . import experiment, instrumenter, log

AGAIN = "SCOREP_PYTHON_BINDINGS_INITIALISED"
FOLDER = "SCOREP_PYTHON_BINDINGS_TEMP_DIR"
BACKUP = "SCOREP_LD_PRELOAD_BACKUP"


def split(words: list[str]) -> tuple[list[str], list[str], bool]:
    """For scorep-config; the script with its arguments; whether Python calls are to be traced."""
    config, rest, python = [], [], True
    for place, word in enumerate(words):
        if word in ("--nopython", "--noinstrumenter"):
            python = False
        elif word in ("--keep-files", "--verbose", "-v") or word.startswith("--instrumenter-"):
            pass
        elif word.startswith("-"):
            config.append(word)
            if word == "--":
                rest = words[place + 1 :]
                break
        else:
            rest = words[place:]
            break
    return config, rest, python


def ask_config(*words: str) -> str:
    done = subprocess.run(["scorep-config", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"given config {list(words)} is not supported\n{done.stderr}")
    return done.stdout.strip()


def execute_again(config: list[str]) -> None:
    import tempfile

    ask_config(*config, "--user")
    library = ask_config("--preload-libs")
    before = os.environ.get("LD_PRELOAD", "")
    folder = tempfile.mkdtemp(prefix="scorep.", dir=Path(os.environ["STANDIN_LOG"]).parent)
    os.environ[AGAIN], os.environ[BACKUP], os.environ[FOLDER] = "true", before, folder
    os.environ["LD_PRELOAD"] = f"{before} {library}".strip()
    libraries = os.environ.get("LD_LIBRARY_PATH")
    os.environ["LD_LIBRARY_PATH"] = f"{folder}:{libraries}" if libraries else folder
    os.execve(sys.executable, [sys.executable, "-m", "scorep", *sys.argv[1:]], os.environ)


def reset_preload() -> None:
    if log.does("keeps-preload"):
        return
    before = os.environ[BACKUP]
    if before:
        os.environ["LD_PRELOAD"] = before
    else:
        del os.environ["LD_PRELOAD"]


def main() -> None:
    config, program, python = split(sys.argv[1:])
    if not program:
        sys.exit("scorep: Did not find a script to run")
    if os.environ.get(AGAIN) != "true":
        execute_again(config)
    log.write("start", argv=sys.argv[1:], environment=dict(os.environ))
    reset_preload()
    if log.does("fails"):
        sys.exit("scorep: it fails, as it was told to")
    experiment.begin()
    sys.argv = program
    sys.path[0] = os.path.split(program[0])[0]
    code = compile(Path(program[0]).read_text(), program[0], "exec")
    names = {"__file__": program[0], "__name__": "__main__", "__package__": None}
    if python:
        instrumenter.get_instrumenter().register()
    try:
        exec(code, names, names)
    finally:
        instrumenter.get_instrumenter().unregister()
        Path(os.environ[FOLDER]).rmdir()


if __name__ == "__main__":
    main()
