"""What line tables are made of; `make.py` compiles it."""

import contextlib


@contextlib.contextmanager
def managed(*names):
    try:
        yield [
            name.upper()
            for name in names
            if name
        ]
    finally:
        del names


class Outer:
    def method(self, x): return lambda y: (x, y)

    async def waits(self, others):
        async for one in others:
            async with one as inner:
                await inner
        return {
            k: v
            for k, v in self.items()
        }


def long_jump(x):
    return (





























































































































        x
        + 1
    )


def handles(x):
    while x:
        try:
            x = int(
                x,
            ) - 1
        except (ValueError, TypeError) as error:
            if x == 3:
                continue
            raise RuntimeError(f"{x!r} is {error}") from error
        else:
            break
    match x:
        case {"a": [first, *_], **rest}:
            return first, rest
        case str() | bytes():
            pass
    with contextlib.suppress(OSError), open("x") as file: return file.read()
