"""Checks by a schema that are not made again for what passed them before.

Each start of Snakemake checks the study and the claims, which takes a second, and most starts find
both as they were.
"""

import hashlib
import json
import sys
from contextlib import suppress
from functools import cache
from importlib.metadata import version

from scant.files import write_text
from scant.schema import check
from scant.study import code

# SHA-256 of what passed, of its schema and of the code that checked it
FILE = code.PACKAGE / "__pycache__" / f"checked.{sys.implementation.cache_tag}.json"
MOST = 1000  # how many are kept


def check_once(content: dict, schema: dict, where: str, of_each: bool = False) -> None:
    """`scant.schema.check`, unless the same content passed it before.

    Raises
    ------
    SettingError : what `scant.schema.check` raises
    """
    # unlike JSON, it tells a date from its text, and a number from a key that reads like it
    said = repr((_code(), content, schema)).encode()
    key = hashlib.sha256(said).hexdigest()
    if key in _passed():
        return
    check(content, schema, where, of_each)
    _passed().append(key)
    with suppress(OSError):
        write_text(FILE, json.dumps(_passed()[-MOST:]))


@cache
def _code() -> tuple[str, str]:
    """What checks: digests of this project's code, and the version of jsonschema."""
    return code.digest("scant.schema"), version("jsonschema")


@cache
def _passed() -> list[str]:
    with suppress(OSError, ValueError):
        return json.loads(FILE.read_text())
    return []
