"""The source code that a job depends on: what its entry modules import, directly or not, wherever the import stands."""

import ast
import hashlib
import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import scant
from scant.files import write_text

PACKAGE = Path(scant.__file__).parent
# Declarations that change no result: words about a learner, a setting or a figure, and how a learner is drawn.
WORDS = ("about", "caption", "looks")
MEMORY = PACKAGE / "__pycache__" / f"code.{sys.implementation.cache_tag}.json"  # what was read of each source file


MOST = 1000  # source files, old versions included, that are remembered


@cache
def digest(*entries: str) -> str:
    """The digest of all source code that some modules run, their own included.

    It is of syntax trees: an edit to a comment, a docstring or a declaration of `WORDS` leaves it as it is.

    Parameters
    ----------
    entries : dotted names of modules, of this package or of one's own below the working folder
    """
    whole = hashlib.sha256()
    for name, path in sorted(closure(*entries).items()):
        whole.update(f"{name} {_read(path)[0]}\n".encode())
    return whole.hexdigest()[:12]


@cache
def closure(*entries: str) -> dict[str, Path]:
    """The source file of each module that some modules import, directly or not; of their packages, and their own.

    What is neither of this package nor below the working folder is not followed.
    """
    found, waiting = {}, list(entries)
    while waiting:
        name = waiting.pop()
        if name in found or (path := _source(name)) is None:
            continue
        found[name] = path
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        waiting.append(name.rpartition(".")[0])
        waiting += [_absolute(imported, package) for imported in _read(path)[1]]
    _remember()
    return found


def _absolute(name: str, package: str) -> str:
    """A name that is imported within a package: "..a.b" is relative to it."""
    level = len(name) - len(name.lstrip("."))
    if not level:
        return name
    return ".".join([*package.split(".")[: len(package.split(".")) - level + 1], name.lstrip(".")]).strip(".")


@cache
def _source(name: str) -> Path | None:
    """The source file of a module; None for one of another project."""
    first, *rest = name.split(".")
    stem = PACKAGE.joinpath(*rest) if first == PACKAGE.name else Path(first, *rest)
    paths = (stem / "__init__.py", stem.with_name(f"{stem.name}.py")) if first else ()
    return next((path for path in paths if path.is_file()), None)


@cache
def _read(path: Path) -> tuple[str, list[str]]:
    """The digest of a source file's syntax tree, and the names that it imports, of modules or of what is in them."""
    text = path.read_bytes()
    key = hashlib.sha256(_reader() + text).hexdigest()
    if key not in _memory():
        tree = _Bare().visit(ast.parse(text, path))
        _memory()[key] = [hashlib.sha256(ast.dump(tree).encode()).hexdigest(), sorted(set(_imports(tree)))]
    return tuple(_memory()[key])


@cache
def _reader() -> bytes:
    """The source of this module: with another way of reading, what was read before is worth nothing."""
    return Path(__file__).read_bytes()


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield module
            dot = "" if module.endswith(".") else "."
            yield from (f"{module}{dot}{alias.name}" for alias in node.names)


class _Bare(ast.NodeTransformer):
    """Takes from a syntax tree what changes no result: docstrings and declarations of `WORDS`."""

    def visit_Expr(self, node):
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_ClassDef(self, node):
        node.body = [part for part in node.body if not _named(part) & {*WORDS}]
        return self.generic_visit(node)

    def visit_Call(self, node):
        said = [one for one in node.keywords if one.arg in WORDS and isinstance(one.value, ast.Constant)]
        node.keywords = [keyword for keyword in node.keywords if keyword not in said]
        return self.generic_visit(node)


def _named(statement: ast.stmt) -> set[str]:
    """The names that a statement assigns to."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return {target.id for target in targets if isinstance(target, ast.Name)}


@cache
def _memory() -> dict[str, list]:
    """What earlier runs read, by the SHA-256 of the source file: parsing all takes a second."""
    with suppress(OSError, ValueError):
        return json.loads(MEMORY.read_text())
    return {}


def _remember() -> None:
    """Keep what was read for the next run, unless there is nothing new, or nowhere to write it."""
    with suppress(OSError):
        latest = dict(list(_memory().items())[-MOST:])
        kept = json.dumps(latest)
        if not MEMORY.is_file() or MEMORY.read_text() != kept:
            write_text(MEMORY, kept)
