"""Errors that a user can act on: what is wrong, where, and what to do."""

from collections.abc import Iterable
from difflib import get_close_matches


class ScantError(Exception):
    """An expected failure. The command line prints its text and exits with status 1."""


class SettingError(ScantError):
    """A setting of the study, the registry or the command line cannot be used."""


class DataError(ScantError):
    """A file's content cannot be used.

    Parameters
    ----------
    file : path of the offending file
    reason : what is wrong with it
    line : 1-based line number, if the defect has one
    advice : what to do about it
    """

    def __init__(self, file, reason: str, line: int | None = None, advice: str = ""):
        self.file, self.reason, self.line, self.advice = str(file), reason, line, advice
        where = f"{file}, line {line}" if line is not None else f"{file}"
        super().__init__(f"{where}: {reason}" + (f". {advice}" if advice else ""))

    def __reduce__(self):
        return type(self), (self.file, self.reason, self.line, self.advice)


def short(text: str) -> str:
    """Text of somebody's file as an error quotes it."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def printable(text) -> str:
    r"""Text of somebody's file as a terminal may show it: escaped are control characters, line ends among them, and
    others that show nothing of themselves or change the order of letters (ESC is `\x1b`).
    """
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in str(text)
    )


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The name among `known` that a misspelt one is most like; None if it is like none of them."""
    return next(iter(get_close_matches(str(name), sorted(map(str, known)), n=1, cutoff=0.5)), None)


def unknown(kind: str, name: str, known: Iterable[str]) -> SettingError:
    """The error for a name that is not among `known`; it suggests the nearest one."""
    known = sorted(map(str, known))
    near = nearest(name, known)
    hint = f"did you mean {near!r}? " if near else ""
    return SettingError(f"unknown {kind} {str(name)!r}: {hint}Known: {', '.join(known)}")
