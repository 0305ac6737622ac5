"""Text for the terminal: how wide it may be, and columns."""

import shutil
from collections.abc import Sequence

LEAST = 40  # columns of text, however narrow the terminal


def width() -> int:
    """How many columns text may take."""
    return max(LEAST, shutil.get_terminal_size().columns - 1)


def aligned(lines: Sequence[Sequence[str]], indent: str = "", right: bool = False) -> str:
    """Lines of cells as text in columns.

    right : whether all columns but the first are aligned to the right
    """
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = ""
    for first, *others in lines:
        adjust = str.rjust if right else str.ljust
        cells = [first.ljust(widths[0]), *map(adjust, others, widths[1:])]
        text += f"{indent}{'  '.join(cells)}".rstrip() + "\n"
    return text
