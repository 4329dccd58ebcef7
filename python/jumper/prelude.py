"""What a script made of cells needs of IPython, without IPython: written into the script itself.

`script_text` copies the functions that a script uses, and no other. So each imports what it needs
within itself, and every name begins with `_jumper`: the rest of the script is the user's.
"""

# mypy: ignore-errors


def _jumper_begin():
    """Modules are found as in a kernel, and an error names its cell."""
    import sys

    if "" not in sys.path:
        sys.path.insert(0, "")
    if "IPython" not in sys.modules:
        sys.excepthook = _jumper_show_error


def _jumper_show_error(kind, error, traceback):
    import sys

    places = []
    step = traceback
    try:
        with open(__file__, encoding="utf-8") as file:
            lines = file.read().split("\n")
        while step is not None:
            if step.tb_frame.f_code.co_filename == __file__:
                line = begin = step.tb_lineno
                while begin and not lines[begin - 1].startswith("# %% In ["):
                    begin -= 1
                if begin:
                    line -= begin + lines[begin].startswith("_jumper_mark = ")
                    places.append(f"{lines[begin - 1][5:].split(',')[0]}, line {line}")
            step = step.tb_next
        if places:
            error.add_note("in " + ", called by ".join(reversed(places)))
    except Exception:
        pass
    sys.__excepthook__(kind, error, traceback)


def _jumper_scorep(name):
    """Score-P's instrumenter for one cell; nothing where the script doesn't run under Score-P."""
    import atexit
    import contextlib
    import os
    import sys

    instrumenter = sys.modules.get("scorep.instrumenter")
    if instrumenter is None or "SCOREP_PYTHON_BINDINGS_INITIALISED" not in os.environ:
        return contextlib.nullcontext()
    mark = instrumenter.enable(name)
    has_left = []
    leave = mark.__exit__

    def leave_once(*error):
        if not has_left:
            has_left.append(True)
            leave(*error)

    atexit.register(leave_once, None, None, None)  # a cell that raises doesn't come to its end
    return mark


def _jumper_expand(text, names):
    """`{expression}` and `$name`, as IPython puts values into a line; any error leaves all."""
    import re
    import string

    dollar = re.compile(r"\$(\$?)(\w[\w.]*)(?=(?:[^']*'[^']*')*[^']*$)")

    def value(expression):
        return str(eval(expression, names))

    def dollars(literal):
        return dollar.sub(lambda m: "$" + m[2] if m[1] else value(m[2]), literal)

    parts = []
    try:
        for literal, field, spec, conversion in string.Formatter().parse(text):
            parts.append(dollars(literal))
            if field is not None:
                found = eval(f"{field}:{spec}" if spec else field, names)
                parts.append(str(string.Formatter().convert_field(found, conversion)))
    except Exception:
        return text
    return "".join(parts)


def _jumper_names():
    import sys

    frame = sys._getframe(2)
    return {**frame.f_globals, **frame.f_locals}


def _jumper_system(command):
    """`!command`, at a terminal of its own as in a notebook; what it prints is printed here."""
    import codecs
    import contextlib
    import fcntl
    import os
    import pty
    import struct
    import subprocess
    import sys
    import termios

    command = _jumper_expand(command, _jumper_names())
    ours, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    try:
        child = subprocess.Popen(
            ["sh", "-c", command],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            start_new_session=True,
        )
    finally:
        os.close(terminal)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    with contextlib.suppress(OSError):  # the last of them has closed it
        while data := os.read(ours, 1 << 16):
            sys.stdout.write(decoder.decode(data).replace("\r\n", "\n"))
            sys.stdout.flush()
    os.close(ours)
    globals()["_exit_code"] = child.wait()


class _jumper_lines(list):
    """What `x = !command` gives: lines, also as one text."""

    l = list = property(lambda self: [*self])
    n = nlstr = property("\n".join)
    s = spstr = property(" ".join)

    @property
    def p(self):
        import pathlib

        return [pathlib.Path(line) for line in self if pathlib.Path(line).exists()]


def _jumper_getoutput(command):
    import os
    import subprocess

    done = subprocess.run(
        _jumper_expand(command, _jumper_names()),
        shell=True,
        executable=os.getenv("SHELL"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return _jumper_lines(done.stdout.decode("utf-8", "replace").splitlines())


def _jumper_pipe(program, text):
    """`%%bash` and the like."""
    import shlex
    import subprocess
    import sys

    sys.stdout.flush()
    sys.stderr.flush()
    subprocess.run(shlex.split(program), input=text.encode(), check=True)


def _jumper_pip(arguments):
    import subprocess
    import sys

    sys.stdout.flush()
    subprocess.run(f"{sys.executable} -m pip {arguments}", shell=True, check=False)


def _jumper_env(line):
    import os

    line = _jumper_expand(line, _jumper_names())
    separator = "=" if "=" in line else " "
    name, found, value = (part.strip() for part in line.partition(separator))
    if not name:
        return dict(os.environ)
    if not (found or separator in line):
        return os.environ[name]
    os.environ[name] = value
    print(f"env: {name}={value}")
    return None


def _jumper_cd(line):
    import os

    words = _jumper_expand(line, _jumper_names()).strip()
    is_quiet = words.startswith("-q")
    before = os.getcwd()
    target = words[2:].strip() if is_quiet else words
    if target == "-":
        target = _jumper_cd.__dict__.get("before", before)
    try:
        os.chdir(os.path.expanduser(target or "~"))
        _jumper_cd.__dict__["before"] = before
    except OSError as error:
        print(error)
    if not is_quiet:
        print(os.getcwd())


def _jumper_pwd(_):
    import os

    return os.getcwd()


def _jumper_matplotlib(_):
    """Figures of a notebook's page: here they are drawn, and shown nowhere."""
    import importlib.util
    import warnings

    if importlib.util.find_spec("matplotlib") is not None:
        import matplotlib

        matplotlib.use("agg")
        warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")


def _jumper_clock():
    """Of `%time`: what it returns prints the times since."""
    import os
    import time

    begin, begin_s = os.times(), time.perf_counter()

    def say():
        wall_s, end = time.perf_counter() - begin_s, os.times()
        user_s, system_s = end.user - begin.user, end.system - begin.system
        total_s = user_s + system_s
        print(f"CPU times: user {user_s:.3g} s, sys: {system_s:.3g} s, total: {total_s:.3g} s")
        print(f"Wall time: {wall_s:.3g} s")

    return say


def _jumper_time(statement):
    import ast
    import sys

    frame = sys._getframe(1)
    tree = ast.parse(statement)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    value = ast.Expression(last.value) if last is not None else ast.Expression(ast.Constant(None))
    before = compile(tree, "<%time>", "exec")
    after = compile(ast.fix_missing_locations(value), "<%time>", "eval")
    say = _jumper_clock()
    exec(before, frame.f_globals, frame.f_locals)
    value = eval(after, frame.f_globals, frame.f_locals)
    say()
    return value


def _jumper_timeit(line):
    import re
    import sys
    import timeit

    options = re.match(r"(?:\s*-(?:[nr]\s*\d+|[qo]))*", line)[0]
    chosen = dict(re.findall(r"-([nr])\s*(\d+)", options))
    timer = timeit.Timer(line[len(options) :].strip(), globals=sys._getframe(1).f_globals)
    loops = int(chosen.get("n", 0)) or timer.autorange()[0]
    runs = int(chosen.get("r", 7))
    best_s = min(timer.repeat(runs, loops)) / loops
    if "-q" not in options:
        print(f"{best_s:.3g} s a loop (the best of {runs} runs of {loops} loops)")


def _jumper_writefile(line, text):
    import os
    import shlex

    words = shlex.split(_jumper_expand(line, _jumper_names()))
    path = os.path.expanduser(words[-1])
    is_more, is_there = "-a" in words or "--append" in words, os.path.exists(path)
    does = "Appending to" if is_more else "Overwriting"
    print(does if is_there else "Writing", path)
    with open(path, "a" if is_more else "w", encoding="utf-8") as file:
        file.write(text)


def _jumper_await(name, text):
    """A cell that awaits: in one loop, which stands still between such cells."""
    import ast
    import asyncio
    import inspect
    import linecache
    import sys

    names = sys._getframe(1).f_globals
    known = _jumper_await.__dict__
    if "loop" not in known:
        known["loop"] = asyncio.new_event_loop()
        asyncio.set_event_loop(known["loop"])
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    statements = [ast.Module([one], []) for one in ast.parse(text).body]

    async def run():
        for one in statements:
            code = compile(one, name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            found = eval(code, names)
            if inspect.isawaitable(found):
                await found

    known["loop"].run_until_complete(run())
