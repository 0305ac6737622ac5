"""The site of documentation (mkdocs.yml): what it has besides docs/*.md, and how docstrings are
read for it.

Pages of the site are the documents of the repository as they are. Links between them, and to files
of the repository, work in both.
"""

import json
import posixpath
import re
from pathlib import Path

import griffe
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
PAGES = {  # the address of documents outside docs/
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "SECURITY.md": "security.md",
    "examples/ads.ipynb": "examples/ads.md",
    "examples/results.ipynb": "examples/results.md",
}
REFERENCE = {  # the pages of the API reference: title, and what is described
    "results": ("Results of a study", ["scant.results", "scant.finished.results"]),
    "measures": ("Measures", ["scant.measures"]),
    "surrogates": ("Surrogates", ["scant.surrogates"]),
    "ads": ("Policies from logs", ["scant_ads.api"]),
    "streams": ("Streams", ["scant.data.stream.Stream", "scant.data.stream.read"]),
    "extending": (
        "What one extends",
        [
            "scant.declare.declarations",
            "scant.rankers.learners.Contextual",
            "scant.rankers.learners.Linear",
            "scant.games.player",
            "scant.bandits.learners.Scorer",
            "scant.bandits.learners.WholeLog",
            "scant.declare.families",
        ],
    ),
    "errors": ("Errors", ["scant.errors"]),
}
LINK = re.compile(r"\]\((?!\w+:)([^)\s#]+)")


def on_files(files, config):
    """Add the documents outside docs/, the API reference and the files that documents link to."""
    documents = PAGES | {
        f"docs/{file.src_uri}": file.src_uri for file in files.documentation_pages()
    }
    for source, address in documents.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        text = _notebook(text) if source.endswith(".ipynb") else text

        def moved(link: re.Match, source=source, address=address) -> str:
            """The link, from the address of its document to that of its target."""
            target = posixpath.normpath(posixpath.join(posixpath.dirname(source), link[1]))
            if target.startswith("docs/"):
                page = target.removeprefix("docs/")
            elif (page := documents.get(target)) is None:
                page = f"files/{target}"
                if (ROOT / target).is_file():
                    files.append(File.generated(config, page, abs_src_path=str(ROOT / target)))
            return f"]({posixpath.relpath(page, posixpath.dirname(address) or '.')}"

        _add(files, config, address, LINK.sub(moved, text))
    for page, (title, objects) in REFERENCE.items():
        _add(
            files,
            config,
            f"reference/{page}.md",
            "\n\n".join([f"# {title}", *(f"::: {name}" for name in objects)]),
        )
    return files


def _add(files, config, address: str, text: str) -> None:
    if file := files.get_file_from_path(address):
        files.remove(file)
    files.append(File.generated(config, address, content=text))


def _notebook(text: str) -> str:
    """A notebook as Markdown: its text, its code, and the outputs that are stored in it."""
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", []):
            data = {kind: "".join(content) for kind, content in output["data"].items()}
            if "image/png" in data:
                parts.append(f"![](data:image/png;base64,{data['image/png'].strip()})")
            elif table := re.search("<table.*</table>", data.get("text/html", ""), re.DOTALL):
                parts.append(re.sub(r"<table[^>]*>", "<table>", re.sub(r"\n\s*", "", table[0])))
            else:
                parts.append(f"```text\n{data['text/plain']}\n```")
    return "\n\n".join(parts)


class Docstrings(griffe.Extension):
    """Reads `name : meaning`, as docstrings here have it, as numpydoc has it: the meaning on a line
    of its own.
    """

    def on_object(self, *, obj: griffe.Object, **kwargs) -> None:
        if obj.docstring:
            obj.docstring.value = _numpydoc(
                obj.docstring.value, "Attributes" if obj.is_class else "Parameters"
            )


def _numpydoc(text: str, section: str) -> str:
    """The docstring, with a title for a list of names that has none.

    section : the title of such a list
    """
    lines, title = [], ""
    for line, after in zip(old := text.splitlines(), [*old[1:], ""], strict=True):
        if re.fullmatch("-+", after):
            title = line
        entry = re.fullmatch(r"(\w[\w.*]*(?:, [\w.*]+)*) : (.+)", line)
        if entry and title not in ("Returns", "Yields"):
            if not title:
                lines += [title := section, "-" * len(section)]
            lines += [entry[1], f"    {entry[2]}"]
        else:
            lines.append(line)
    return "\n".join(lines)
