"""Pieces of text for the terminal."""

from collections.abc import Iterable

from scant.errors import printable


def percent(value: float) -> str:
    """A share in percent; a dash for NaN."""
    return "-" if value != value else f"{100 * value:.3f}"


def rounded(count: float) -> str:
    """A count of rows, to two digits."""
    return f"{float(f'{count:.2g}'):,.0f}"


def joined(lines: Iterable[str]) -> str:
    """Lines as one text, in which nothing that a log has in its names can steer a terminal or begin a line."""
    return "".join(f"{printable(line)}\n" for line in lines)


def aligned(cells: list[tuple[str, ...]]) -> list[str]:
    """Lines of a text table: the first column aligned to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in cells
    ]
