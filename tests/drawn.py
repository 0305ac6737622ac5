"""Figures of the shipped studies, drawn by today's code from what their references hold of them."""

import gzip
import io
from pathlib import Path

import pandas as pd

from scant.declare import families
from scant.present import figures

ROOT = Path(__file__).parents[1]
SHOWN = {shown.name: shown for _, shown in families.shown() if shown.draw}
# of columns that do not say it by themselves: texts that look like numbers, numbers that may miss
TYPES = dict.fromkeys(("place", "user", "of"), str) | dict.fromkeys(("k", "n"), "Int64")


def kept() -> dict[str, Path]:
    """The data of each figure of the references, by STUDY/FIGURE."""
    files = sorted((ROOT / "results/reference").glob("*/figures/*.csv.gz"))
    return {f"{file.parts[-3]}/{file.name.removesuffix('.csv.gz')}": file for file in files}


def largest() -> list[str]:
    """Of each figure the STUDY/FIGURE whose data have the most bytes."""
    by_size = sorted(kept(), key=lambda name: len(content(name)))
    return [*{name.split("/")[1]: name for name in by_size}.values()]


def content(name: str) -> bytes:
    """The CSV file of a figure, STUDY/FIGURE."""
    return gzip.decompress(kept()[name].read_bytes())


def frame(name: str) -> pd.DataFrame:
    """What a figure, STUDY/FIGURE, shows; None where a text is missing."""
    rows = pd.read_csv(io.BytesIO(content(name)), dtype=TYPES)
    texts = rows.select_dtypes(exclude=["number", "bool"]).astype(object)
    return rows.assign(**texts.where(texts.notna(), None))


def draw(shown: pd.DataFrame, figure: str):
    """The figure of this name, drawn from what it shows."""
    return families.called(SHOWN[figure].draw)(figures.literal(shown))
