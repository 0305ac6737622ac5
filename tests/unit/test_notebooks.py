"""The example notebooks: stored with what they show, which is what they show when they are run."""

import ast
import json
import re
from pathlib import Path

import matplotlib as mpl
import pytest

mpl.use("svg")
EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
LARGEST = 60_000  # bytes of an image
NUMBER = r"[+-]?[\d,]*\.?\d+"


def code(path) -> list[dict]:
    return [
        cell
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        if cell["cell_type"] == "code"
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_has_its_outputs_and_nothing_of_the_machine(path):
    cells, text = code(path), path.read_text(encoding="utf-8")
    assert [cell["execution_count"] for cell in cells] == [*range(1, len(cells) + 1)]
    for cell in cells:
        shows = isinstance(ast.parse("".join(cell["source"])).body[-1], ast.Expr)
        assert bool(cell["outputs"]) == shows
        assert all(output["output_type"] != "error" for output in cell["outputs"])
        for output in cell["outputs"]:
            images = [
                image for kind, image in output.get("data", {}).items() if kind.startswith("image/")
            ]
            assert all(len(image) < LARGEST * 4 / 3 for image in images)
    assert not re.search(r"/(tmp|home|root|work|Users)/|[A-Z]:\\\\", text) and len(text) < 150_000


def test_the_notebook_of_logs_shows_what_it_showed(tmp_path, monkeypatch):
    """Its cells of code in turn: words are the same, and numbers are but for rounding."""
    monkeypatch.chdir(tmp_path)
    names = {}
    for cell in code(EXAMPLES / "ads.ipynb"):
        *statements, last = ast.parse("".join(cell["source"])).body
        exec(compile(ast.Module(statements, []), "cell", "exec"), names)
        if not cell["outputs"]:
            exec(compile(ast.Module([last], []), "cell", "exec"), names)
            continue
        shown = repr(eval(compile(ast.Expression(last.value), "cell", "eval"), names))
        kept = "".join(cell["outputs"][0]["data"]["text/plain"])
        if "image/png" in cell["outputs"][0]["data"]:
            continue
        assert re.sub(NUMBER, "#", shown).split() == re.sub(NUMBER, "#", kept).split()
        now, then = (
            [float(number.replace(",", "")) for number in re.findall(NUMBER, text)]
            for text in (shown, kept)
        )
        assert now == pytest.approx(then, rel=1e-3, abs=2e-3)
    assert {"policy", "found"} <= {*names} and (tmp_path / "policy.arrow").is_file()
