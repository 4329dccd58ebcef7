"""Notebooks of a few cells each: what they print is what their script prints."""

C51 = '''msg = ("%d of %d"
       % (3, 4))
x = (17
 % 5)
s = """
%ls is no magic
!rm nothing
"""
%timeit -n1 -r1 \\
  sum(range(10))
files = !echo a b
print(msg, x, len(s.splitlines()), files)
msg, x, len(s.splitlines()), files'''

NOTEBOOKS = {
    "values are not printed": ["1 + 1", "x = 3; x", "print(x)"],
    "what an earlier cell made": ["def f(a): return a * 2", "print(f(4))"],
    "case 51": [C51],
    "case 53": [
        'größe = "\\U0001F600"\ndef Δt(x): return x\ns = "\\ud800"\nprint(Δt(größe), len(s), "äöü")'
    ],
    "quotes of all kinds": ['a = \'\'\'x"""y\'\'\'\nb = """\'\'\'\n\\""""\nprint(a, b)'],
    "lines in strings keep their place": [
        'def f():\n    """A\n  text\n\tof lines."""\n    return f.__doc__\nprint(repr(f()))'
    ],
    "a backslash at a line's end": ["a = 1 + \\\n    2\nprint('a\\\nb', a)"],
    "an f-string with a string": ["n = {'k': 5}\nprint(f\"{n['k']:>4}|{'a' 'b'!r}\")"],
    "the future in a later cell": [
        "import os",
        "from __future__ import annotations\nx = 1",
        "print(x)",
    ],
    "the future among others": [
        "x = 2; from __future__ import (annotations,\n  generator_stop); y = 3\nprint(x, y)",
        "def f(a: nowhere): pass\nprint(f.__annotations__)",
    ],
    "%env before all code": [
        "%env JUMPER_SCRIPT_A=one two",
        "import os\nprint(os.environ['JUMPER_SCRIPT_A'])",
    ],
    "%env between code": [
        (
            "import os; os.environ['JUMPER_SCRIPT_B'] = 'x'\nprint(os.environ['JUMPER_SCRIPT_B'])\n"
            "%env JUMPER_SCRIPT_B=\"quoted\" 'both'\nprint(os.environ['JUMPER_SCRIPT_B'])"
        ),
        (
            "v = 7\n%env JUMPER_SCRIPT_C={v}\n%set_env JUMPER_SCRIPT_D $v\n"
            "print(os.environ['JUMPER_SCRIPT_C'], os.environ['JUMPER_SCRIPT_D'])"
        ),
    ],
    "code after %env in one cell": ["%env JUMPER_SCRIPT_E=$HOME\nprint('after')"],
    "%env in a block": ["for i in range(2):\n    %env JUMPER_SCRIPT_F=a\n    print(i)"],
    "a value of %env": ["%env JUMPER_SCRIPT_G=5", "g = %env JUMPER_SCRIPT_G\nprint(g)"],
    "shell lines": ["!echo a; echo b >&2; printf 'no end'", "print('next')"],
    "a shell line's status": ["!exit 3\nprint(_exit_code)"],
    "values in shell lines": [
        "v = 'w w'; d = {'k': [1, 2]}\n!echo {v} $v '$v' \"{d['k'][1]}\" $$ | sed s/[0-9]*$/PID/",
        "!echo {undefined_name} $undefined_name {} x",
    ],
    "shell lines in blocks": [
        "for i in range(3):\n    if i:\n        !echo $i\n    else: print('0th')"
    ],
    "what a shell line says": [
        "x = !printf 'b a\\nc\\n'\nprint(x, x.n, x.s, x.l, len(x), type(x).__mro__[-2].__name__)",
        "def f(n):\n    y = !echo {n}\n    return y[0]\nprint(f(9))",
    ],
    "a shell line that goes on": ["!echo a \\\n  b"],
    "columns as at a terminal": ["!mkdir -p d; cd d; touch a b c; ls; cd ..; rm -r d"],
    "%cd and %pwd": [
        "import os\n%cd -q /\nprint(os.getcwd())",
        "%cd /usr/\nhere = %pwd\nprint(here)",
        "%cd -",
    ],
    "%cd to nowhere": ["%cd /no/such/folder\nprint('on')"],
    "%time": ["%time a = 5\n%time a + 1\nprint(a)", "%%time\nb = a + 1\nprint(b)"],
    "%time in a function": ["def f(n):\n    %time m = n + 1\n    return n\nprint(f(2))"],
    "%%bash": ["%%bash\nfor i in 1 2; do\n  echo \"$i '''\"\ndone"],
    "%%sh and %%script": ["%%sh\necho sh", "%%script cat -n\na\nb"],
    "%%python": ["%%python3\nprint('other process')"],
    "%%writefile": [
        "%%writefile note.txt\n%ls\n'''",
        "%%writefile -a note.txt\nmore",
        "print(open('note.txt').read())",
    ],
    "a module beside the notebook": [
        "%%writefile beside_it.py\nvalue = 8",
        "import beside_it; print(beside_it.value)",
    ],
    "await": [
        "import asyncio\nasync def f(n):\n    await asyncio.sleep(0); return n",
        "r = await f(3)\nprint(r)",
        "print(r + 1)",
    ],
    "tasks": [
        "import asyncio\nasync def f(): return 6\nt = asyncio.create_task(f())\nprint(await t)",
        "async with asyncio.timeout(5): print(await asyncio.gather(f(), f()))",
        "print([await f() for _ in range(2)])",
    ],
    "await in strings": ["print('await me')\nawait_ = \"await\"\nprint(await_)"],
    "both streams": [
        "import sys\nprint('out'); print('err', file=sys.stderr)",
        "import warnings\nwarnings.warn('told')",
    ],
    "no line's end": ["print('a', end='')", "print('b', end='')"],
    "empty cells and comments": ["", "  \n", "# a comment", "print(1)  # %% not a cell", "pass"],
    "leading blanks": ["\n\n   y = 1\n   print(y)"],
    "prompts": [">>> z = 1\n>>> for i in range(2):\n...     print(i)\n"],
    "what doctests need": [
        "def f():\n    '''\n    >>> f()\n    1\n    '''\n    return 1\nimport doctest\nprint(f())"
    ],
    "main": ["print(__name__)\nif __name__ == '__main__': print('main')"],
    "functions of a notebook in processes": [
        "import multiprocessing as mp\ndef sq(n): return n * n",
        "with mp.get_context('fork').Pool(2) as p: print(p.map(sq, [1, 2, 3]))",
    ],
    "classes and pickles": [
        "import pickle\nclass C:\n    x = 1",
        "print(pickle.loads(pickle.dumps(C())).x)",
    ],
    "names that scope": [
        "x = 1\ndef f():\n    global x\n    x = 2\nf()",
        "print(x)",
        "del x\nprint('x' in globals())",
    ],
    "lambdas and comprehensions": ["k = 3\nprint([(lambda: k + i)() for i in range(2)])"],
    "one statement too early": ["x = 1\nprint(x)\nglobal x\nprint('on')"],
    "a very long line": ["s = '" + "y" * 50_000 + "'; print(len(s))"],
    "exceptions that are caught": ["try: 1 / 0\nexcept ZeroDivisionError as e: print(e)"],
    "questions to jumper": ["print(1)\n%jumper status\nprint(2)"],
    "settings of a notebook": [
        "%config InlineBackend.figure_format = 'svg'\n%precision 3\nprint(1.23456)"
    ],
    "decorators": [
        "import functools\n@functools.cache\ndef f(n):\n    return n if n < 2 else f(n-1) + f(n-2)",
        "print(f(30))",
    ],
    "marked for Score-P": [
        "%%execute_with_scorep\ndef f(): return 'in'\nprint(f())",
        "print('out')",
    ],
    "percent at a line's begin": ["x = (7\n%3)\nprint(x)"],
}
# Only IPython has what they use; with what is said about it.
IPYTHONS = {
    "%%capture": (["%%capture said\nprint('kept')", "print(said.stdout)"], "%%capture"),
    "the last value": (["5 + 1", "print(Out[1] if 1 in Out else 'no')"], "Out"),
    "get_ipython": (["print(get_ipython().__class__.__mro__[-2].__name__)"], "get_ipython"),
    "an alias with arguments": (["%alias twice echo %s %s", "%twice a b"], "%alias"),
    "%who": (["only_this = 1\nw = %who_ls int\nprint('only_this' in w)"], "%who_ls"),
}
# Of which cells are put together by chance.
PIECES = [
    "x = 1",
    "y = '%s' % x",
    "!ls 'a b' {x}",
    "z = !ls",
    "%cd -q .",
    "%env A=1",
    "x?",
    "if x:\n    !ls\n    w = 2",
    's = """\n!no\n%no\n   """',
    "# %% In [3]",
    "%no_such_magic 1",
    "def f(a, *, ä=2):\n    'doc'\n    %time a\n    return a",
    "%time x = 2",
    "await g()",
    "from __future__ import annotations",
    "%timeit -n1 -r1 x",
    "t = f'{x!r:>{4}} {x=}'",
    "class C: x: int = 1",
    "print('é', '\U0001f600')",
    "%jumper status",
    "k = (7\n%3)",
    "l = '''a\x0cb\u2028c\x1d'''; m = [\x0c1]",
    "u = 'a\\\nb'",
    "r = r'\\'; q = '#'",
    "%load_ext jumper",
    "%matplotlib inline",
    "(lambda: 0)()",
    "try:\n    !ls\nexcept Exception: pass",
    "@property\ndef p(self): ...",
]
