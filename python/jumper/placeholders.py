"""What stands for an object that can't go where the others go: any use of it says so."""

from typing import Any, Final, NoReturn


class CannotCarry(RuntimeError):  # noqa: N818  (what the user reads)
    """Something was used that stayed in the other process."""


class Placeholder:
    """Holds the place of one object, also inside containers.

    `label` is what the user calls it: a name of the notebook, or the type where it has none.
    On its way back it becomes the object that it stands for.
    """

    __slots__ = ("label", "reason")

    def __init__(self, label: str, reason: str) -> None:
        object.__setattr__(self, "label", label)
        object.__setattr__(self, "reason", reason)

    def __repr__(self) -> str:
        return f"<{sentence(self)}>"

    def __reduce__(self) -> Any:
        return place, (self.label, self.reason)

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("_repr_", "_ipython_")):  # a front end asks, nobody uses it
            raise AttributeError(name)
        __tracebackhide__ = True
        refuse(self)

    def __setattr__(self, name: str, value: Any) -> None:
        __tracebackhide__ = True
        refuse(self)


def sentence(placeholder: Placeholder) -> str:
    return f"{placeholder.label} could not be carried: {placeholder.reason}"


def refuse(placeholder: Placeholder, *_: Any, **__: Any) -> NoReturn:
    __tracebackhide__ = True  # IPython's: the cell's own line is the last one shown
    raise CannotCarry(sentence(placeholder))


# All that an object may be asked but for what every object answers: type, repr, ==, hash.
USES: Final = (  # noqa: SIM905
    "abs add aenter aexit aiter and anext await bool buffer bytes call ceil complex contains "
    "delitem divmod enter exit float floor floordiv format ge getitem gt iadd iand ifloordiv "
    "ilshift imatmul imod imul index int invert ior ipow irshift isub iter itruediv ixor le len "
    "lshift lt matmul mod mul neg next or pos pow radd rand rdivmod reversed rfloordiv rlshift "
    "rmatmul rmod rmul ror round rpow rrshift rshift rsub rtruediv rxor setitem str sub truediv "
    "trunc xor delattr array"
).split()
for use in USES:
    setattr(Placeholder, f"__{use}__", refuse)


def place(label: str, reason: str) -> Placeholder:
    """What a pickle calls."""
    return Placeholder(label, reason)
