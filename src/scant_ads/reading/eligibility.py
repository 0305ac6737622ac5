"""Which ads could be shown at a visit, as a column of lists says: Arrow lists, or texts such as
`a|b` or `["a", "b"]`.

Such a column has the role `eligible`.
"""

import json
import re
from collections import Counter
from collections.abc import Sequence

import pyarrow as pa
from pyarrow import types

from scant_ads.reading import arrays
from scant_ads.reading.literals import literal

MARKS = "|;,"  # between the ads of a text
BRACKETS = ("[]", "()", "{}")  # around them


def is_list(kind) -> bool:
    """Whether an Arrow type is of lists."""
    return types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)


def as_lists(column):
    """An Arrow array of lists or of texts, read by `parts_of`, as an array of lists; null where a
    list is missing.
    """
    if is_list(column.type):
        return column
    codes, values = arrays.distinct(column)
    texts = arrays.as_texts(values)
    lists = [
        None if text in arrays.MISSING else parts
        for text, parts in zip(texts, parts_of(texts), strict=True)
    ]
    return pa.array([None, *lists], pa.list_(pa.string())).take(pa.array(codes + 1))


def parts_of(texts: Sequence[str]) -> list[list[str]]:
    """The ads in each text of a list; no ads if the text is no list.

    Lists are in brackets, as JSON, Python, NumPy or PostgreSQL writes them, or have between their
    ads the separator that most of the texts have. A text without either is one ad.
    """
    bare = [text.strip() for text in texts]
    marks = Counter(
        mark for text in bare if not _is_bracketed(text) for mark in MARKS if mark in text
    )
    return [_parts(text, marks.most_common(1)[0][0] if marks else None) for text in bare]


def _is_bracketed(text: str) -> bool:
    return len(text) > 1 and text[0] + text[-1] in BRACKETS


def _parts(text: str, mark: str | None) -> list[str]:
    """The ads of a text; none if it is no list. `mark` separates ads that no brackets enclose."""
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
            type(value) in (str, int, float, bool) for value in values
        )
        return [*map(str, values)] if fits else []
    if quoted := re.findall(r"(['\"])(.*?)\1", inside):  # as NumPy writes it
        return [ad for _, ad in quoted]
    # as PostgreSQL, or NumPy, writes it
    parts = inside.split(",") if "," in inside else re.split(r"\s+", inside)
    return [part.strip() for part in parts if part.strip()]
