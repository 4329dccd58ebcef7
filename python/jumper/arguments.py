"""The words behind a magic: options, and names that may be mistyped."""

from difflib import get_close_matches


def options(
    verb: str, words: list[str], valued: tuple[str, ...], flags: tuple[str, ...] = ()
) -> tuple[dict[str, str], list[str]]:
    """`--level L`, `--level=L`, `-o FILE` and mere flags, and the words that are none of them."""
    found: dict[str, str] = {}
    rest = []
    left = iter(words)
    for word in left:
        option, equals, value = word.partition("=")
        if word in flags:
            found[word] = ""
        elif option in valued:
            found[option] = value if equals else next(left, "")
            if not found[option]:
                raise ValueError(f"{option} needs a value: {option} …")
        elif word.startswith("-") and not word[1:2].isdigit():
            known = ", ".join((*valued, *flags))
            raise ValueError(f"{option} is no option of {verb}: it knows {known}")
        else:
            rest.append(word)
    return found, rest


def one_of(what: str, name: str, known: tuple[str, ...]) -> str:
    """The name. Raises ValueError, with a guess at what was meant."""
    if name not in known:
        near = get_close_matches(name, known, 1)
        guess = f" Did you mean {near[0]}?" if near else ""
        raise ValueError(f"there is no {what} {name!r}.{guess} The {what}s are {', '.join(known)}.")
    return name
