"""`python kernel.py OPTIONS`: stands for a kernel. Reads lines of code, answers in JSON."""

import contextlib
import functools
import importlib
import json
import sys
import types


def main(options: dict) -> None:
    scope = {"answer": None}
    exec("import os, sys, time, signal, threading, json", scope)  # while descriptors are left
    module = importlib.import_module("jumper.session")
    if options.get("program"):
        module.program = lambda: options["program"]
    native = module._native
    if options.get("most_bytes"):  # no setting: 256 MiB take a test too long
        module._native = types.SimpleNamespace(
            Session=functools.partial(native.Session, most_bytes=options["most_bytes"])
        )
    session = scope["s"] = module.session(label="a test", rate=options.get("rate", 50))

    def cell(code: str, name: str | None = None) -> int:
        with session.cell(name or code) as one:
            exec(code, scope)
        return one.index

    scope["cell"] = cell
    status = session.native.status()
    print(json.dumps([session.path, status.sampler_pid]), flush=True)
    for line in sys.stdin:
        scope["answer"] = None
        exec(json.loads(line), scope)
        print(json.dumps(scope["answer"]), flush=True)
    if options.get("close", True):
        session.close()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main(json.loads(sys.argv[1]))
