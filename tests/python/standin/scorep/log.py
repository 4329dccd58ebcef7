"""What the stand-in saw, a JSON line each: start, region, enter, exit, stray, recording."""

import json
import os


def does(what: str) -> bool:
    return what in os.environ.get("STANDIN_DOES", "").split()


def write(what: str, **more: object) -> None:
    path = os.environ.get("STANDIN_LOG")
    if path:
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(file, (json.dumps({"what": what, "pid": os.getpid()} | more) + "\n").encode())
        finally:
            os.close(file)
