"""Errors that a user can act on: what is wrong, where, and what to do."""

import math
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from numbers import Integral, Real

# Control characters, halves of characters, and two that are none: XML cannot hold them, so figures
# cannot. And marks that turn round what follows them.
UNSHOWN = re.compile(
    "[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]"
)
QUOTE = "'\"'\"'"  # a quotation mark in a quoted word, as `shlex.quote` writes it
WORD = rf"'(?:[^']|{QUOTE})*'|\S*[^\s,;:.)?]"  # as a shell takes it, before punctuation

# By option of `scant ads`, what messages give with it, and how it is written in Python without
# that, and with it.
ARGUMENTS = {
    "baseline": (WORD, "baseline", "baseline={!r}"),
    "categorical": (WORD, "categorical", "categorical=[{!r}]"),
    "columns": (rf"\w+=(?:{WORD})", "columns", "columns={{{!r}: {!r}}}"),
    "eligible": (WORD, "columns['eligible']", "columns={{'eligible': {!r}}}"),
    "id": (WORD, "columns['id']", "columns={{'id': {!r}}}"),
    "ignore": (WORD, "ignore", "ignore=[{!r}]"),
    "keep": (WORD, "keep", "keep=[{!r}]"),
    "least-propensity": ("unknown", "least_propensity", "least_propensity={!r}"),
    "less": ("", "less=True", ""),
    "looks": ("", "looks", ""),
    "no-less": ("", "less=False", ""),
    "policy": ("each-ad", "policies", "policies=[{!r}]"),
    "propensity": (r"\d[\d.]*", "propensity", "propensity={}"),
    "propensity-of": ("above|place|list", "propensity_of", "propensity_of={!r}"),
    "propensities": ("percent|log", "propensities", "propensities={!r}"),
    "reward-max": (r"-?\d[\d.]*", "reward_max", "reward_max={}"),
    "reward-min": (r"-?\d[\d.]*", "reward_min", "reward_min={}"),
    "reward-unit": ("", "reward_unit", ""),
    "shared": ("refuse|drop", "shared", "shared={!r}"),
    "split": ("", "Log.split", ""),
    "time": (WORD, "columns['timestamp']", "columns={{'timestamp': {!r}}}"),
    "train": ("", "train", ""),
    "user": (WORD, "columns['user']", "columns={{'user': {!r}}}"),
}


class ScantError(Exception):
    """An expected failure. The command line prints its text, which names options, and exits with
    status 1.

    As a string, which is what Python shows, it names arguments in their place; see `as_arguments`.
    """

    @property
    def text(self) -> str:
        """What the command line prints."""
        return super().__str__()

    def __str__(self) -> str:
        return as_arguments(self.text)


class SettingError(ScantError):
    """A setting of the study, the registry or the command line cannot be used."""


class DataError(ScantError):
    """A file's content cannot be used.

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


def as_arguments(text: str) -> str:
    """A message with arguments of `scant_ads` in place of options of `scant ads`: `--ignore visit`
    is `ignore=['visit']`.
    """
    for option, (value, alone, written) in ARGUMENTS.items() if "--" in text else ():
        value_pattern = rf"(?: ({value})(?![\w-]))?" if value else "()"

        def argument(match: re.Match, alone=alone, written=written) -> str:
            if not match[1]:
                return f"`{alone}`"
            words = match[1].split("=", 1) if "!r}: {" in written else [match[1]]
            return written.format(
                *(re.sub(r"^'(.*)'$", r"\1", word).replace(QUOTE, "'") for word in words)
            )

        text = re.sub(rf"(?<![\w-])--{option}(?![\w-]){value_pattern}", argument, text)
    return text.replace("} columns={", ", ")  # several in a row


def is_number(value, least: float = -math.inf, most: float = math.inf, whole: bool = False) -> bool:
    """Whether a setting is a number from `least` to `most`, and no text, truth value or NaN.

    whole : whether it has to be a whole one
    """
    is_one = isinstance(value, Integral if whole else Real) and not isinstance(value, bool)
    return is_one and least <= value <= most


def short(value) -> str:
    """Text, or another value, of somebody's file as an error quotes it."""
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else value[:37] + "...")
    written = printable(repr(value))
    return written if len(written) <= 40 else written[:37] + "..."


def printable(text) -> str:
    r"""Text of somebody's file, safe to show in a terminal.

    Control characters are escaped (ESC is `\x1b`), among them the ends of lines. So are characters
    that show nothing, or change the order of letters.
    """
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in str(text)
    )


def without_controls(text: str) -> str:
    """Text for files that people open: characters that match `UNSHOWN` are escaped."""
    return UNSHOWN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def printable_lines(text: str) -> str:
    """Text of several lines, each as `printable`."""
    return "\n".join(map(printable, text.split("\n")))


def nearest(name: str, names: Iterable[str], cutoff: float = 0.5) -> str | None:
    """The one of `names` that is most like a misspelt name; None if none is like it.

    cutoff : the least similarity, from 0 to 1
    """
    close = get_close_matches(str(name), sorted(map(str, names)), 1, cutoff)
    return close[0] if close else None


def unknown(kind: str, name: str, names: Iterable[str]) -> SettingError:
    """The error for a name that is not among `names`; it suggests the nearest one."""
    names = sorted(map(str, names))
    near = nearest(name, names)
    hint = f"did you mean {near!r}? " if near else ""
    return SettingError(f"unknown {kind} {short(str(name))}: {hint}Known: {', '.join(names)}")


def check_name(kind: str, name, names: Iterable) -> None:
    """Raise the error of `unknown` for a name that is not among `names`."""
    if name not in names:
        raise unknown(kind, name, names)


@contextmanager
def errors_of(where: str) -> Iterator[None]:
    """Put `where`, the setting at fault, before the message of a SettingError in the block."""
    try:
        yield
    except SettingError as error:
        raise SettingError(f"{where}: {error}") from None
