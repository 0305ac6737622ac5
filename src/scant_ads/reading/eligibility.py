"""Which ads could be shown at a visit, as a column of lists says: Arrow lists, or texts such as
`a|b` or `["a", "b"]`.

Such a column is named by the role `eligible`, or recognised by a usual name if its lists have the
ads shown.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from pyarrow import types

from scant_ads.reading.literals import literal
from scant_ads.reading.names import word_set

NAMES = word_set(
    "eligible eligible_ads eligible_actions eligible_items eligible_arms candidates candidate_ads "
    "candidate_actions candidate_items available available_ads available_actions available_items "
    "available_arms allowed_actions valid_actions action_set actions"
)
MARKS = "|;,"  # between the ads of a text
BRACKETS = ("[]", "()", "{}")  # around them
HEAD = 1000  # the first rows, by which it is decided whether a column holds lists
SAID = ", eligible ads by {!r}"  # what the form of a file says of a column that was recognised


def is_list(kind) -> bool:
    """Whether an Arrow type is of lists."""
    return types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)


def is_usual(name: str) -> bool:
    """Whether a column, or a value of an object, is called as such lists are."""
    return name.rpartition(".")[2].lower() in NAMES


def usual(names: Iterable[str], column_of: Callable) -> str | None:
    """The column that has a usual name, and lists that mostly have the ad shown; None if there is
    none.

    column_of : gives a column by its name or role, or its first rows, Arrow; None for one that is
        not there
    """
    actions = column_of("action")
    if actions is not None:
        actions = texts_of(actions.slice(0, HEAD).to_pylist())
        return next(
            (
                name
                for name in filter(is_usual, names)
                if fits(column_of(name).slice(0, HEAD).to_pylist(), actions)
            ),
            None,
        )
    return None


def texts_of(values: Iterable) -> list[str]:
    """Ids as texts, whole numbers without a decimal point."""
    return [
        str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
        for value in values
    ]


def fits(values: Sequence, actions: Sequence[str]) -> bool:
    """Whether values, each a list or a text of one, have the ads shown in at least half of the
    rows, and some have others, too.
    """
    texts = [value for value in values if isinstance(value, str)]
    if texts:
        ads, has = of_texts(texts)
        sets = iter([{ads[index] for index in np.flatnonzero(row)} for row in has])
    lists: list[set[str]] = []
    for value in values:
        if isinstance(value, str):
            lists.append(next(sets))
        else:
            lists.append({*texts_of(value)} if isinstance(value, list) else set())
    among = sum(ad in ads for ad, ads in zip(actions, lists, strict=True))
    return 2 * among >= len(lists) > 0 and max(map(len, lists)) > 1


def of_texts(texts: Sequence[str]) -> tuple[list[str], np.ndarray]:
    """The ads of some texts of lists; and which of them each has, bool (texts x ads), none if it is
    no list.

    Ads stand in brackets, as JSON, Python, NumPy or PostgreSQL writes them, or have that mark
    between them which most of the texts have. A text without either is one ad.
    """
    bare = [text.strip() for text in texts]
    marks = Counter(
        mark for text in bare if not _is_bracketed(text) for mark in MARKS if mark in text
    )
    parts = [_parts(text, marks.most_common(1)[0][0] if marks else None) for text in bare]
    place = {
        ad: index for index, ad in enumerate(dict.fromkeys(ad for part in parts for ad in part))
    }
    has = np.zeros((len(bare), len(place)), bool)
    for index, part in enumerate(parts):
        has[index, [place[ad] for ad in part]] = True
    return [*place], has


def _is_bracketed(text: str) -> bool:
    return len(text) > 1 and text[0] + text[-1] in BRACKETS


def _parts(text: str, mark: str | None) -> list[str]:
    """The ads of a text; none if it is no list."""
    if not _is_bracketed(text):
        return [part.strip() for part in text.split(mark) if part.strip()] if mark else [text]
    inside = text[1:-1].strip()
    for read in (lambda text: json.loads(text, parse_int=str, parse_float=str), literal):
        if re.search(r"['\"]\s+['\"]", inside):  # which Python takes for one text
            break
        try:
            values = read(text)
        except (ValueError, SyntaxError, RecursionError):
            continue
        fits = isinstance(values, list | tuple | set) and all(
            type(value) in (str, int) for value in values
        )
        return [*map(str, values)] if fits else []
    if quoted := re.findall(r"(['\"])(.*?)\1", inside):  # as NumPy writes it
        return [ad for _, ad in quoted]
    # as PostgreSQL, or NumPy, writes it
    parts = inside.split(",") if "," in inside else re.split(r"\s+", inside)
    return [part.strip() for part in parts if part.strip()]
