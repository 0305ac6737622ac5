"""Values written as Python writes them, such as {'age': 30}, where JSON was to be expected."""

import ast

LONGEST, DEEPEST = 1 << 16, 50  # of a text that is read: its characters, and its brackets that open


def literal(text: str):
    """The value of a text of Python's: texts, numbers, True, False and None, or dictionaries and
    lists of such values.

    No code is run.
    """
    if len(text) > LONGEST or sum(map(text.count, "[{(")) > DEEPEST:
        raise SyntaxError("too long, or too deep")
    try:
        return ast.literal_eval(text.strip())
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        raise SyntaxError("no text of Python's") from None
