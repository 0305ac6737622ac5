"""Functions and sentences drawn at random, for a reader who has not seen them: which of them need a second reading?

    python benchmarks/reading.py functions 80 --seed 1
    python benchmarks/reading.py sentences 60 --seed 1

Functions are those of src, methods included, of at least five lines; sentences those of README.md, docs, and docstrings
of src, of at least six words, without code blocks, tables and headings. Each is printed with its place.
"""

import argparse
import ast
import random
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]


def functions() -> Iterator[tuple[str, str]]:
    """The place and the text of each function."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno >= 4:
                yield f"{path.relative_to(ROOT)}:{node.lineno}", ast.get_source_segment(text, node, padded=True)


def sentences() -> Iterator[tuple[str, str]]:
    """The place and the text of each sentence."""
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        prose = re.sub(r"(?ms)^```.*?^```$|<!--.*?-->|^\|.*?$|^#.*?$", "", path.read_text())
        yield from ((str(path.relative_to(ROOT)), sentence) for sentence in _split(prose))
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                place = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"
                yield from ((place, sentence) for sentence in _split(ast.get_docstring(node) or ""))


def _split(prose: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n|\n(?=- )", prose):
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z`])", " ".join(paragraph.split())):
            if len(sentence.split()) >= 6:
                yield sentence


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("functions", "sentences"))
    parser.add_argument("number", type=int)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    pieces = [*(functions() if arguments.what == "functions" else sentences())]
    for number, (place, text) in enumerate(random.Random(arguments.seed).sample(pieces, arguments.number), 1):
        print(f"\n{number}. {place}\n{text}")
