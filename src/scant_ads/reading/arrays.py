"""The columns of an Arrow table as arrays: their values, the numbers that texts are, and codes of
distinct values.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from pyarrow import compute, types

from scant.data import logs

MISSING = frozenset(
    ("", "NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "null", "None", "none", "-", "?", "#N/A")
)


def plain(column):
    """An Arrow column as one array; dictionary-encoded texts stay encoded."""
    if types.is_string_view(column.type):  # as polars has it, for which Arrow lacks functions
        column = column.cast(pa.string())
    if not types.is_dictionary(column.type):
        return logs.whole(column)
    if types.is_string_view(column.type.value_type):
        parts = [pa.DictionaryArray.from_arrays(part.indices, part.dictionary.cast(pa.string()))
                 for part in column.chunks]  # fmt: skip
        column = pa.chunked_array(parts, pa.dictionary(column.type.index_type, pa.string()))
    column = logs.whole(column.unify_dictionaries())
    return column if is_text(column.type) else column.dictionary_decode()


def decoded(column):
    """An Arrow column as one array of values, without dictionary encoding."""
    column = plain(column)
    return column.dictionary_decode() if types.is_dictionary(column.type) else column


def _of_values(column_type):
    """The Arrow type of a column's values, which a dictionary may encode."""
    return column_type.value_type if types.is_dictionary(column_type) else column_type


def is_text(column_type) -> bool:
    """Whether an Arrow type is of texts."""
    kind = _of_values(column_type)
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def is_number(column_type) -> bool:
    """Whether an Arrow type, no dictionary, is of numbers or truth values."""
    is_real = types.is_floating(column_type) or types.is_decimal(column_type)
    return is_real or types.is_integer(column_type) or types.is_boolean(column_type)


def reads_as_text(column_type) -> bool:
    """Whether values of an Arrow type (no dictionary) can be read as text: texts, numbers, truth
    values, dates, times, nulls.
    """
    is_other = types.is_temporal(column_type) or types.is_null(column_type)
    return is_text(column_type) or is_number(column_type) or is_other


def is_single(column_type) -> bool:
    """Whether numbers of an Arrow type are in single precision, or less."""
    kind = _of_values(column_type)
    return types.is_float32(kind) or types.is_float16(kind)


def kind_of(column_type) -> str | None:
    """What a feature of an Arrow type holds: "text", "times" or "numbers"; None for a type without
    values.
    """
    kind = _of_values(column_type)
    if is_text(kind):
        return "text"
    if types.is_timestamp(kind) or types.is_date(kind):
        return "times"
    return None if types.is_null(kind) else "numbers"


def numeric(column):
    """Values as float64 (rows), NaN where there is no number; None for a type without numbers."""
    if is_text(column.type):
        codes, texts = distinct(column)
        numbers = [as_number(text) for text in texts.to_pylist()]
        # A missing text has the code -1, which stands for the last entry: one more NaN.
        values = np.array([*(np.nan if number is None else number for number in numbers), np.nan])
        return values[codes]
    if types.is_null(column.type):
        return np.full(len(column), np.nan)
    if not is_number(column.type):
        return None
    if column.type != pa.float64():
        column = column.cast(pa.float64(), safe=False)
    return column.to_numpy(zero_copy_only=False)


def as_number(text: str) -> float | None:
    """The number that a text is; None if it is none."""
    try:
        return float(text) if "_" not in text else None
    except ValueError:
        return None


def days(column) -> np.ndarray:
    """Times as days since 1970, float64 (rows); NaN where one is missing."""
    times = column.cast("timestamp[us]", safe=False)
    days = (
        np.asarray(times.cast("int64", safe=False).to_numpy(zero_copy_only=False), float) / 86400e6
    )
    return np.where(np.asarray(column.is_null()), np.nan, days)


def distinct(column):
    """For each row the code of its value, int64 (rows), -1 where it is missing; and the distinct
    values, an Arrow array.
    """
    coded = column if types.is_dictionary(column.type) else column.dictionary_encode()
    codes = coded.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
    values = coded.dictionary
    lacks = np.array([value is None or value != value for value in values.to_pylist()], bool)
    occurs = np.bincount(codes[codes >= 0], minlength=len(values)) > 0
    kept = occurs & ~lacks
    place = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
    return place[codes], values.filter(pa.array(kept))


def as_texts(values) -> list[str]:
    """Distinct values as texts, whole numbers without a decimal point."""
    return [as_text(value) for value in values.to_pylist()]


def as_text(value) -> str:
    """A value as text, a whole number without a decimal point."""
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 2.0**63
    return str(int(value) if whole else value)


def places(texts: Sequence[str], labels: Sequence[str]) -> np.ndarray:
    """The index of each text in `labels`, int32 (texts); -1 where no label fits.

    A number or truth value that no label spells in the same way takes the label with its value, if
    there is only one: 1067.0 takes 1067 or 01067, 1.1 takes 1.10, and True takes true. So a file
    with numbers fits a file with texts.
    """
    place, by_value = {label: index for index, label in enumerate(labels)}, {}
    for label in labels:
        by_value.setdefault(briefly(label), []).append(place[label])
    fitting = (
        by_value.get(briefly(text), ()) if text not in place else (place[text],) for text in texts
    )
    return np.array([few[0] if len(few) == 1 else -1 for few in fitting], np.int32)


def briefly(text: str) -> str:
    """The shortest spelling of a number or truth value; any other text as it is."""
    number = as_number(text)
    if number is not None and abs(number) < 2.0**53:
        return as_text(number)
    return text.lower() if text.lower() in ("true", "false") else text


def numbers_rows(column) -> bool:
    """Whether an Arrow column has whole numbers that are all different, as an index has."""
    whole = types.is_integer(column.type) and not column.null_count
    return whole and compute.count_distinct(column).as_py() == len(column)
