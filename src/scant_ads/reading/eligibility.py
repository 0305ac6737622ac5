"""Which ads could be shown at a visit, as a column of lists says: Arrow lists, or texts such as
`a|b` or `["a", "b"]`.

Such a column has the role `eligible`.
"""

import json
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from pyarrow import types

from scant_ads.reading.literals import literal

MARKS = "|;,"  # between the ads of a text
BRACKETS = ("[]", "()", "{}")  # around them


def is_list(kind) -> bool:
    """Whether an Arrow type is of lists."""
    return types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)


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
