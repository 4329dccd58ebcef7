"""Who else has registered a name: an installed jumper-extension keeps those that it has.

Loaded before us, its names stay its own; loaded after us, it takes them. Both is said once.
"""

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from IPython.core.magic import Magics

THEIRS: Final = "jumper_extension"
WITNESS: Final = "perfmonitor_start"
SENTENCE: Final = (
    "jumper_extension is installed and loaded here, so %perfmonitor_…, %export_session and its "
    "other names are its own, with its own collector; JUmPER measures on and answers %jumper"
)


class Rivals:
    def __init__(self) -> None:
        self._said = False

    def leave_out(self, shell: Any, magics: "Magics") -> None:
        """Takes out of our magics what the other package has registered already."""
        registered = shell.magics_manager.magics
        for kind, names in magics.magics.items():
            for name in [one for one in names if is_theirs(registered[kind].get(one))]:
                del names[name]

    def take_sentences(self, shell: Any, magics: "Magics") -> list[str]:
        """After each cell: looks one name up."""
        if self._said or shell is None:
            return []
        now = shell.magics_manager.magics["line"].get(WITNESS)
        if now is magics.magics["line"].get(WITNESS) or not is_theirs(now):
            return []
        self._said = True
        return [SENTENCE]


def is_theirs(magic: Any) -> bool:
    owner = type(getattr(magic, "__self__", None)).__module__
    return owner.partition(".")[0] == THEIRS
