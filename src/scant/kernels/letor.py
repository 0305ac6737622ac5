"""The parser of LETOR's text: lines of grade, query and numbered features, from bytes into
arrays.
"""

import math

import numpy as np

from scant.kernels import compiled

_GIVE_UP = -1
REFUSE, HALF_UP, DOWN, UP = range(4)  # in the order of scant.data.letor.FRACTIONS

# numbers up to this round to a finite float32: also FLT_MAX as C prints it
_LARGEST = 3.40282356e38


@compiled(inline="always")
def _at(buffer, i):
    """The byte at `i`; the index is unsigned, so that Numba need not test whether it counts from
    the end.
    """
    return np.int64(buffer[np.uintp(i)])


@compiled(inline="always")
def _skip(buffer, i):
    """The position of the first byte from `i` on that is not blank (tab, blank, CR)."""
    while _at(buffer, i) == 32 or _at(buffer, i) == 9 or _at(buffer, i) == 13:
        i += 1
    return i


@compiled(inline="always")
def _whole(buffer, i):
    """A run of digits as an integer, correct for up to 18 digits, and the position after it."""
    value = 0
    c = _at(buffer, i)
    while 48 <= c <= 57:
        value = value * 10 + (c - 48)
        i += 1
        c = _at(buffer, i)
    return value, i


@compiled(inline="always")
def _ends(c):
    """Whether the byte `c` ends a field."""
    return c == 32 or c == 10 or c == 9 or c == 13 or c == 35


@compiled()
def _scale(number, power, tens):
    """`number` times ten to the `power`, which may be any integer."""
    while power > 22 and 0.0 < number < math.inf:
        number *= 1e22
        power -= 22
    while power < -22 and number > 0.0:
        number /= 1e22
        power += 22
    if 0.0 < number < math.inf:
        number = number * tens[power] if power > 0 else number / tens[-power]
    return number


@compiled(inline="always")
def _value(buffer, i, tens):
    """A decimal number as float64, and the position after it (_GIVE_UP if there is none).

    Exact to rounding for 17 digits and powers of ten up to 22, else good to a few parts in 10^16.
    """
    negative = _at(buffer, i) == 45
    if negative or _at(buffer, i) == 43:
        i += 1
    mantissa, power, first = 0, 0, i
    c = _at(buffer, i)
    while 48 <= c <= 57:
        if mantissa < 10_000_000_000_000_000:
            mantissa = mantissa * 10 + (c - 48)
        else:
            power += 1
        i += 1
        c = _at(buffer, i)
    digits = i - first
    if c == 46:
        i += 1
        first = i
        c = _at(buffer, i)
        while 48 <= c <= 57:
            if mantissa < 10_000_000_000_000_000:
                mantissa = mantissa * 10 + (c - 48)
                power -= 1
            i += 1
            c = _at(buffer, i)
        digits += i - first
    if digits == 0:
        return 0.0, _GIVE_UP
    if c == 101 or c == 69:
        i += 1
        below = _at(buffer, i) == 45
        if below or _at(buffer, i) == 43:
            i += 1
        first = i
        while _at(buffer, i) == 48:
            i += 1
        significant = i
        written, i = _whole(buffer, i)
        if i == first:
            return 0.0, _GIVE_UP
        if i - significant > 6:
            written = 1_000_000
        power += -written if below else written

    number = float(mantissa)
    if -23 < power < 0:
        number /= tens[-power]
    elif power != 0:
        number = _scale(number, power, tens)
    return -number if negative else number, i


@compiled(inline="always")
def _padded(widths, length, zeros):
    """Whether an id of a query may be another's with other zeros before it; `widths` are those of
    `parse`.
    """
    if zeros and widths[0] == 0:
        widths[0] = length
    elif not zeros:
        widths[1] = min(widths[1], length)
    return (zeros and widths[0] != length) or widths[0] > widths[1]


@compiled()
def parse(buffer, start, end, line, form, block, tens, used, widths):
    """Parse rows from `start` until `end` or until the block is full; every line in between ends in
    LF.

    line : the number of the line at `start`
    form : how lines are written, a `_Form` of `scant.data.letor`; `rounding` is one of the
        constants above
    block : the `Block` of `scant.data.letor` that rows go into; `printed` keeps a grade as it is
        written
    tens : the powers of ten that float64 holds exactly
    used : for each feature, the last line that has it, or 0
    widths : digits of the ids of queries that begin with a zero, or 0, and the fewest of others, in
        the lines before

    Returns the number of rows, position and line number of the next line, and whether the parser
    gave up on that line.
    """
    d, top, in_comment, rounding, lowest, unsorted, overflow = form
    query, grade, x, lines, printed = block
    n, i = 0, start
    while i < end and n < len(query):
        start = i
        i = _skip(buffer, i)
        if _at(buffer, i) == 35:
            while _at(buffer, i) != 10:
                i += 1
        if _at(buffer, i) == 10:
            i += 1
            line += 1
            continue

        if _at(buffer, i) == 43:
            i += 1
        first = i
        value, i = _whole(buffer, i)
        if i == first or i - first > 18 or value > top:
            return n, start, line, True
        grade[n], printed[n] = value, value
        if _at(buffer, i) == 46:  # a fraction of zeros does no harm
            i += 1
            while _at(buffer, i) == 48:
                i += 1
            if rounding != REFUSE and 49 <= _at(buffer, i) <= 57:
                while 48 <= _at(buffer, i) <= 57:
                    i += 1
                number, _ = _value(buffer, first, tens)
                printed[n] = number
                value = (
                    math.ceil(number)
                    if rounding == UP
                    else math.floor(number + 0.5 * (rounding == HALF_UP))
                )
                if value > top:
                    return n, start, line, True
                grade[n] = value
        if not _ends(_at(buffer, i)):
            return n, start, line, True
        i = _skip(buffer, i)

        if not in_comment:
            for c in (113, 105, 100, 58):  # qid:
                if _at(buffer, i) != c:
                    return n, start, line, True
                i += 1
            first = i
            query[n], i = _whole(buffer, i)
            if i == first or i - first > 18 or not _ends(_at(buffer, i)):
                return n, start, line, True
            if _padded(widths, i - first, _at(buffer, first) == 48 and i - first > 1):
                return n, start, line, True
            i = _skip(buffer, i)

        last = lowest - 1
        while _at(buffer, i) != 10 and _at(buffer, i) != 35:
            first = i
            index, i = _whole(buffer, i)
            column = index - lowest
            if _at(buffer, i) != 58 or i == first or i - first > 9 or not 0 <= column < d:
                return n, start, line, True
            if used[column] == line if unsorted else index <= last:
                return n, start, line, True
            number, i = _value(buffer, i + 1, tens)
            if i == _GIVE_UP or not _ends(_at(buffer, i)):
                return n, start, line, True
            if not abs(number) <= _LARGEST:
                if math.isnan(overflow):
                    return n, start, line, True
                number = math.copysign(overflow, number)
            x[n, column] = number
            used[column] = line
            last = index
            i = _skip(buffer, i)

        if in_comment:
            if _at(buffer, i) != 35:
                return n, start, line, True
            i = _skip(buffer, i + 1)
            first = i
            query[n], i = _whole(buffer, i)
            if i == first or i - first > 18 or not _ends(_at(buffer, i)):
                return n, start, line, True
            if _padded(widths, i - first, _at(buffer, first) == 48 and i - first > 1):
                return n, start, line, True
        while _at(buffer, i) != 10:
            i += 1
        i += 1
        lines[n] = line
        line += 1
        n += 1
    return n, i, line, False
