"""From an original file that was fetched to its table."""

import re
from pathlib import Path

from scant.data import fetch, tables
from scant.data.registry import Dataset
from scant.errors import DataError

_CSV = "Make it CSV with the columns query, grade and f1 to fd (parser: csv)"
_FEATURES = "Give the file that has a line of features for each document, too"
# By how a file begins: what it is and what to do; and how the names of parsers begin that read it
FORMS = {
    rb"PAR1": ("a parquet file. Its parser is parquet", "parquet"),
    rb"\x1f\x8b": ("packed by gzip. Let its name end in .gz", ()),
    rb"PK\x03\x04|BZh|\xfd7zXZ|\x28\xb5\x2f\xfd": ("packed, or a sheet of Excel. Unpack it", ()),
    rb"(?i)(%[^\n]*\n|\s)*@relation": (f"an ARFF file. {_CSV}", ()),
    rb"\S+[ \t]+Q0[ \t]+\S+[ \t]+\d+[ \t]+[-+.\deE]+[ \t]+\S+\s*?\n": (
        f"a run file of TREC, which has no features. {_FEATURES}",
        (),
    ),
    rb"\S+[ \t]+Q?0[ \t]+\S+[ \t]+-?\d+\s*?\n": (
        f"a file of judgments (qrels) of TREC, which has no features. {_FEATURES}",
        (),
    ),
    rb"[^:#\n\d]*[A-Za-z][^:#\n]*\n[-+.\d]+[ \t]+qid:": (
        "LETOR's text with a header. Delete its first line",
        (),
    ),
    rb"[^:#\n]*[,;\t][^:#\n]*\n": (
        f"a table separated by commas, semicolons or tabs. {_CSV}, in scant.play named .csv",
        "csv",
    ),
    rb"[-+.\d]+[ \t]+qid:": ("LETOR's text. Its parser is letor", "letor"),
}


def convert(dataset: Dataset, part: str, original, target) -> None:
    """Convert an original file by `tables.convert`, after checking its checksums once more.

    Raises
    ------
    DataError : the file is refused; names its form, if that is known and not its parser's
    """
    start = b""
    if Path(original).is_file():
        fetch.check_content(dataset.part(part), original, original)
        with open(original, "rb") as content:
            start = content.read(1 << 12)
    try:
        tables.convert(dataset, part, original, target)
    except DataError as error:
        if error.file != str(original):
            raise
        file = dataset.part(part).file if dataset.own else original
        forms = (FORMS[pattern] for pattern in FORMS if re.match(pattern, start))
        form, parser = next(forms, ("", ""))
        if dataset.task != "ranking" or ":" in dataset.parser or dataset.parser.startswith(parser):
            raise DataError(file, error.reason, error.line, error.advice) from error
        raise DataError(file, f"it is {form}") from error
