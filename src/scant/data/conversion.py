"""From an original file that was fetched to its table."""

from pathlib import Path

from scant.data import fetch, tables
from scant.data.registry import Dataset
from scant.errors import DataError


def convert(dataset: Dataset, part: str, original, target) -> None:
    """Convert an original file by `tables.convert`, if it has the registered checksums still."""
    if Path(original).is_file():
        fetch.check_content(dataset.part(part), original, original)
    try:
        tables.convert(dataset, part, original, target)
    except DataError as error:
        if not dataset.own or error.file != str(original):
            raise
        raise DataError(dataset.part(part).file, error.reason, error.line, error.advice) from error
