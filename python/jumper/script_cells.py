"""One cell's text as a part of a Python script: the user's lines stay as they are.

IPython's own transformation says which lines are magics and shell lines, as when the cell runs; the
calls that it puts there are found in the syntax tree and become calls of `prelude`'s functions.
"""

import ast
import inspect
import shlex
import symtable
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from . import scorep
from .collecting import Cell

# Magics that the prelude has a function for, by their name.
LINE: Final = {
    "cd": "_jumper_cd",
    "env": "_jumper_env",
    "set_env": "_jumper_env",
    "matplotlib": "_jumper_matplotlib",
    "pip": "_jumper_pip",
    "pwd": "_jumper_pwd",
    "time": "_jumper_time",
    "timeit": "_jumper_timeit",
}
PROGRAMS: Final = ("bash", "sh", "perl", "ruby", "python", "python2", "python3", "pypy", "script")
WRITING: Final = ("writefile", "file")
# Magics that change only what a notebook shows or how it is measured: a script has none of that.
SHOWN: Final = ("html", "HTML", "javascript", "js", "latex", "markdown", "svg", "SVG")
MEASURED: Final = (
    *("display_code_for_index", "display_code_history", "display_graph_for_all"),
    *("display_graph_for_index", "display_graph_for_last", "disable_vampir_launch"),
    *("enable_vampir_launch_on_scorep_instrumented", "export_session", "import_session"),
    *("jumper", "marshalling_settings", "perfdata_to_json", "perfdata_to_variable"),
    *("scorep_python_binding_arguments", "set_perfmonitor", "show_cell_history"),
)
OF_NOTEBOOKS: Final = (
    *("autoreload", "autosave", "colors", "config", "load_ext", "pinfo", "pinfo2"),
    *("precision", "psearch", "reload_ext", "unload_ext", "xmode"),
)
LOADED: Final = ("jumper", "jumper_extension", "autoreload")  # others bring magics of their own
CALLS: Final = {"system": 1, "getoutput": 1, "run_line_magic": 2, "run_cell_magic": 3}  # words
ARGUMENTS: Final = "scorep_python_binding_arguments"
LOOP: Final = {"create_task", "ensure_future", "gather", "get_event_loop", "get_running_loop"}
HISTORY: Final = ("In", "Out", "display", "get_ipython", "_", "__", "___")


@dataclass
class Part:
    """Of a script. `text` ends with a line's end."""

    number: int
    text: str = ""
    is_marked: bool = False  # for Score-P
    uses: set[str] = field(default_factory=set)  # functions of the prelude
    futures: list[str] = field(default_factory=list)
    environment: list[tuple[str, str]] = field(default_factory=list)  # of %env, in order
    has_code: bool = False  # beside %env lines
    arguments: list[str] | None = None  # of Score-P's bindings, for all or for this cell
    needs_ipython: list[str] = field(default_factory=list)  # what does
    unknown: set[str] = field(default_factory=set)  # names that other cells must have bound
    bound: set[str] = field(default_factory=set)
    left_out: list[str] = field(default_factory=list)
    is_annotated: bool = False


def part(shell: Any, cell: Cell, *, is_marked: bool) -> Part:
    """Raises nothing that the cell's text can cause: what can't be read runs as it is, and says."""
    code, mark = cell.unmarked()
    made = Part(cell.number, is_marked=is_marked or mark is not None)
    if mark:
        made.arguments = _arguments(mark)
    made.text = _Rewriter(shell, made).rewritten(code)
    _look(made)
    return made


def _arguments(words: str) -> list[str]:
    """Of Score-P's bindings; what they wouldn't take, and a time limit, are for the notebook."""
    try:
        return [*scorep.parse("scorep", shlex.split(words, comments=True))[0]]
    except ValueError:
        return []


def literal(text: str) -> str:
    """As source: one piece a line, so that it can be read."""
    pieces = text.splitlines(keepends=True) or [""]
    return "(\n" + "".join(f"    {piece!a}\n" for piece in pieces) + ")"


@dataclass(frozen=True)
class _Call:
    """One that IPython has put for a `%` or `!`."""

    node: ast.Call
    kind: str
    words: list[str]
    is_statement: bool


class _Rewriter:
    def __init__(self, shell: Any, made: Part) -> None:
        self._shell = shell
        self._made = made

    def rewritten(self, code: str) -> str:
        text = self._shell.transform_cell(code)
        text = text if text.endswith("\n") else text + "\n"
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            return self._as_data(text)
        whole = list(_calls(tree))
        if len(tree.body) == 1 and whole and whole[0].kind == "run_cell_magic":
            return self._cell_magic(text, whole[0])
        made = self._replaced(text, tree, whole)
        return self._as_data(made) if self._must_be_data(made, tree) else made

    def _must_be_data(self, text: str, tree: ast.Module) -> bool:
        """It awaits, or can't be compiled: then only its own end is that of the cell."""
        names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        names |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        has_functions = any(isinstance(one, ast.AsyncFunctionDef) for one in tree.body)
        if "asyncio" in names and names & LOOP and not has_functions:
            return True
        try:
            code = compile(text, "", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        except (SyntaxError, ValueError):
            return True
        return bool(code.co_flags & inspect.CO_COROUTINE)

    def _as_data(self, text: str) -> str:
        self._made.uses.add("_jumper_await")
        self._made.has_code = True
        return f"_jumper_await('In [{self._made.number}]', {literal(text)})\n"

    def _replaced(self, text: str, tree: ast.Module, calls: list[_Call]) -> str:
        changes: list[tuple[ast.AST, str]] = [(call.node, self._call(call)) for call in calls]
        for statement in tree.body:
            if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
                names = [ast.unparse(one) for one in statement.names]
                self._made.futures += names
                changes.append((statement, "pass"))
        idle = {id(node) for node, new in changes if new.startswith(("_jumper_env(", "pass"))}
        self._made.has_code |= any(
            id(one) not in idle and id(getattr(one, "value", None)) not in idle for one in tree.body
        )
        return _with_changes(text, [(node, new) for node, new in changes if new])

    def _call(self, call: _Call) -> str:
        """What takes its place; empty: it stays, and needs IPython."""
        if call.kind == "system":
            return self._prelude("_jumper_system", call.words[0])
        if call.kind == "getoutput":
            return self._prelude("_jumper_getoutput", call.words[0])
        name, line = call.words[0], call.words[1]
        if call.kind == "run_line_magic":
            return self._line_magic(name, line, call)
        self._made.needs_ipython.append(f"%%{name}")
        return ""

    def _line_magic(self, name: str, line: str, call: _Call) -> str:
        if self._is_nothing(name, line):
            if name == ARGUMENTS:
                self._take_arguments(line)
            self._made.left_out.append(f"%{name}")
            return f"pass  # %{name} {line}".rstrip() if call.is_statement else "None"
        if name in LINE:
            if name in ("env", "set_env") and call.is_statement:
                variable, equals, value = line.partition("=" if "=" in line else " ")
                if equals and variable.strip():
                    self._made.environment.append((variable.strip(), value.strip()))
            return self._prelude(LINE[name], line)
        alias = self._shell.alias_manager.get_alias(name)
        if isinstance(alias, str) and "%" not in alias:
            return self._prelude("_jumper_system", f"{alias} {line}".rstrip())
        self._made.needs_ipython.append(f"%{name}")
        return ""

    def _is_nothing(self, name: str, line: str) -> bool:
        if name == "load_ext":
            return line.strip() in LOADED
        return (
            name in MEASURED
            or name in OF_NOTEBOOKS
            or name in SHOWN
            or name.startswith("perfmonitor_")
        )

    def _take_arguments(self, words: str) -> None:
        self._made.arguments = _arguments(words)

    def _cell_magic(self, text: str, call: _Call) -> str:
        name, line, body = call.words
        made = self._made
        if name == "time":
            made.uses.add("_jumper_clock")
            made.has_code = True
            inner = self.rewritten(f"{line}\n{body}" if line.strip() else body)
            return f"_jumper_said = _jumper_clock()\n{inner}_jumper_said()\n"
        if name == ARGUMENTS:
            self._take_arguments(f"{line}\n{body}")
        if self._is_nothing(name, line):
            made.left_out.append(f"%%{name}")
            return "".join(
                f"# {one}\n" for one in [f"%%{name} {line}".rstrip(), *body.splitlines()]
            )
        made.has_code = True
        options = [word for word in line.split() if word.startswith("--")]
        if name in PROGRAMS and not options and "{" not in line and "$" not in line:
            made.uses.add("_jumper_pipe")
            program = line if name == "script" else f"{name} {line}".rstrip()
            return f"_jumper_pipe({program!a}, {literal(body)})\n"
        if name in WRITING:
            made.uses.add("_jumper_writefile")
            return f"_jumper_writefile({line!a}, {literal(body)})\n"
        made.needs_ipython.append(f"%%{name}")
        return text

    def _prelude(self, name: str, line: str) -> str:
        self._made.uses.add(name)
        return f"{name}({line!a})"


def _calls(tree: ast.AST) -> Iterator[_Call]:
    statements = {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr)}
    # In an f-string the user has written it, and before 3.12 its place isn't known.
    texts = [one for one in ast.walk(tree) if isinstance(one, ast.JoinedStr)]
    within = {id(node) for one in texts for node in ast.walk(one)}
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Call(func=ast.Name(id="get_ipython")), attr=kind),
                args=arguments,
            ) if kind in CALLS:
                words = [one.value for one in arguments if isinstance(one, ast.Constant)]
                if len(words) == len(arguments) == CALLS[kind] and id(node) not in within:
                    yield _Call(node, kind, [str(word) for word in words], id(node) in statements)


def _with_changes(text: str, changes: list[tuple[ast.AST, str]]) -> str:
    """Columns of the tree are bytes, and its lines end as those of bytes do."""
    lines = text.encode().splitlines(keepends=True)

    def where(change: tuple[Any, str]) -> tuple[int, int]:
        return change[0].lineno, change[0].col_offset

    for node, new in sorted(changes, key=where, reverse=True):
        place: Any = node
        first, last = place.lineno - 1, place.end_lineno - 1
        rest = lines[last][place.end_col_offset :]
        lines[first : last + 1] = [lines[first][: place.col_offset] + new.encode() + rest]
    return b"".join(lines).decode()


def _look(made: Part) -> None:
    """Which names it binds, and which it takes for granted."""
    text = made.text
    if text.startswith("_jumper_await("):
        call = ast.parse(text).body[0]
        text = ast.literal_eval(call.value.args[1])  # type: ignore[attr-defined]
    try:
        tables = [symtable.symtable(text, "", "exec")]
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    made.is_annotated = any(
        isinstance(node, ast.AnnAssign)
        or (isinstance(node, ast.arg) and node.annotation is not None)
        or (isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None)
        for node in ast.walk(tree)
    )
    used: set[str] = set()
    for table in tables:
        is_module = table.get_type() == "module"
        for symbol in table.get_symbols():
            if not (is_module or symbol.is_global()):
                continue
            if symbol.is_assigned() or symbol.is_imported():
                made.bound.add(symbol.get_name())
            if symbol.is_referenced():
                used.add(symbol.get_name())
        tables += table.get_children()
    made.unknown = {name for name in used - made.bound if not name.startswith("_jumper")}
