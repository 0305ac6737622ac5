"""Text for the terminal: how wide it may be, and columns."""

import shutil
from collections.abc import Sequence

LEAST = 40  # columns of text, however narrow the terminal


def width() -> int:
    """How many columns text may take."""
    return max(LEAST, shutil.get_terminal_size().columns - 1)


def aligned(lines: Sequence[Sequence[str]], indent: str = "") -> str:
    """Lines of cells as text in columns."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = ""
    for line in lines:
        cells = map(str.ljust, line, widths)
        text += f"{indent}{'  '.join(cells)}".rstrip() + "\n"
    return text
