"""Counts calls by `sys.setprofile` while registered, without those of `scorep…` modules."""

import ctypes
import sys
import threading

from . import log

EVENTS_MOST = 50  # `memory`: so many fit
NEVER_ENTERED = (("threading", "_bootstrap_inner"), ("threading", "_bootstrap"))


class Instrumenter:
    def __init__(self):
        self._registered = False
        self._here = threading.local()
        self._events = 0

    def register(self):
        self._registered = True
        threading.setprofile(self._event)
        sys.setprofile(self._event)

    def unregister(self):
        sys.setprofile(None)
        threading.setprofile(None)
        self._registered = False

    def get_registered(self):
        return self._registered

    def region_begin(self, module, name, file, line, code=None):
        log.write("region", begins=True, name=name, file=file, line=line)

    def region_end(self, module, name, code=None):
        log.write("region", begins=False, name=name)

    def _event(self, frame, event, _):
        code, module = frame.f_code, frame.f_globals.get("__name__") or ""
        if event not in ("call", "return") or module.startswith("scorep"):
            return
        if code.co_name == "_unsetprofile":
            return
        stack = self._here.__dict__.setdefault("stack", [])
        if event == "call":
            stack.append(code)
            self._count()
            log.write("enter", name=code.co_name, module=module, thread=threading.get_ident())
        elif stack and stack[-1] is code:
            stack.pop()
            log.write("exit", name=code.co_name, module=module, thread=threading.get_ident())
        elif (module, code.co_name) not in NEVER_ENTERED:
            log.write("stray", name=code.co_name, module=module)

    def _count(self):
        self._events += 1
        if self._events == EVENTS_MOST and log.does("memory"):
            ctypes.PyDLL(None).standin_out_of_memory()  # PyDLL: no other thread runs meanwhile


_the_only = Instrumenter()


def get_instrumenter():
    return _the_only


class enable:  # noqa: N801
    def __init__(self, region_name=""):
        self._name = region_name

    def __enter__(self):
        self._was = _the_only.get_registered()
        if not self._was:
            if self._name:
                _the_only.region_begin("user_instrumenter", self._name, "None", 0)
            _the_only.register()

    def __exit__(self, *_):
        if not self._was:
            _the_only.unregister()
            if self._name:
                _the_only.region_end("user_instrumenter", self._name)


class disable:  # noqa: N801
    def __init__(self, region_name=""):
        self._name = region_name

    def __enter__(self):
        self._was = _the_only.get_registered()
        if self._was:
            _the_only.unregister()

    def __exit__(self, *_):
        if self._was:
            _the_only.register()
