"""Writing figures, each with a CSV file of exactly the data that it shows."""

import re
from contextlib import suppress
from itertools import count
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.legend import Legend
from matplotlib.mathtext import MathTextParser

from scant import __version__
from scant.files import atomic, sha256, write_csv
from scant.present import panels, style


def save(figure, frame: pd.DataFrame, stem, code: str = "") -> None:
    """Write a figure as `stem`.svg and `stem`.png, and the frame that it shows as `stem`.csv.

    Images say in their metadata which data they show and what drew them: neither a date nor the
    whole study's settings, so that the same data and code give the same bytes.

    code : the digest of the code that made them
    """
    if panels.narrow() and figure.get_figwidth() > panels.COLUMN:
        print(f"{Path(stem).name} does not fit a column of text, and is as wide as a page")
    if layout := figure.get_layout_engine():
        layout.execute(figure)
        # computing the layout takes long, and savefig would do it again for each format
        figure.set_layout_engine(None)
    _keep_inside(figure)
    _name(figure)
    stem = Path(stem)
    table = stem.with_name(f"{stem.name}.csv")
    write_csv(frame, table)
    description = f"{table.name} with SHA-256 {sha256(table)}{f', code {code}' if code else ''}"
    about = {"Title": stem.name, "Description": description}
    maker = f"scant {__version__}, Matplotlib {matplotlib.__version__}"
    formats = {"svg": {"Date": None, "Creator": maker}, "png": {"Software": maker}}
    # files as large as by default, in two thirds of the time
    options = {"png": {"pil_kwargs": {"compress_level": 2}}}
    if style.wanted()["pdf"]:
        formats["pdf"] = {
            "CreationDate": None,
            "Creator": maker,
            "Subject": about.pop("Description"),
        }
    for ending, metadata in formats.items():
        with atomic(stem.with_name(f"{stem.name}.{ending}")) as temporary:
            figure.savefig(
                temporary, format=ending, metadata=about | metadata, **options.get(ending, {})
            )
    plt.close(figure)


def literal(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame to draw in which dollar signs stand for themselves.

    Titles are anybody's, and Matplotlib takes what is between two dollar signs for mathematics, or
    fails on it. Only a text that begins and ends with one, and has no other, is mathematics.
    """
    changed = {
        name: column.map(_literal, na_action="ignore")
        for name, column in frame.items()
        if not (
            pd.api.types.is_numeric_dtype(column) or isinstance(column.dtype, pd.CategoricalDtype)
        )
        and column.astype(str).str.contains("$", regex=False).any()
    }
    return frame.assign(**changed) if changed else frame


def _literal(value):
    if not isinstance(value, str) or "$" not in value:
        return value
    if re.fullmatch(r"\$[^$]+\$", value):
        with suppress(ValueError):
            MathTextParser("path").parse(value)
            return value
    return value.replace("$", r"\$")


def _name(figure) -> None:
    """Set, in place, the SVG ids by which the page finds curves: entry-n... of the legend's n-th
    entry, curve-n... of each artist with the entry's text as its label.
    """
    texts = [text for box in figure.findobj(Legend) for text in box.get_texts()]
    numbers = {
        label: number
        for number, label in enumerate(dict.fromkeys(text.get_text() for text in texts))
    }
    unique = count()
    for text in texts:
        text.set_gid(f"entry-{numbers[text.get_text()]}-{next(unique)}")
    for axis in figure.axes:
        labels = {part: box.get_label() for box in axis.containers for part in box.get_children()}
        for artist in axis.get_children():
            number = numbers.get(artist.get_label(), numbers.get(labels.get(artist)))
            for part in (artist, getattr(artist, "arrow_patch", None)):
                if number is not None and part is not None:
                    part.set_gid(f"curve-{number}-{next(unique)}")


def _keep_inside(figure) -> None:
    """Shrink, down to 6 points, texts in panels that the figure's right edge would cut."""
    for axis in figure.axes:
        for text in axis.texts:
            box = text.get_window_extent()
            if box.x1 > figure.bbox.x1 and box.width:
                share = (figure.bbox.x1 - box.x0) / box.width
                text.set_fontsize(max(6.0, 0.98 * share * text.get_fontsize()))
