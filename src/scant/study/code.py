"""The source code that a job depends on: all modules that its entry modules import, directly or
indirectly.

Imports inside functions count, too.
"""

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
# Declarations that change no result: texts about a learner, a setting or a figure, and how a
# learner is drawn.
WORDS = ("about", "caption", "looks")
# the digest and imports of source files
CACHE = PACKAGE / "__pycache__" / f"code.{sys.implementation.cache_tag}.json"
MOST = 1000  # how many source files the cache holds, counting old versions


@cache
def digest(*entries: str) -> str:
    """The digest of the source code of some modules and of all modules that they import.

    It is computed from syntax trees: an edit to a comment, a docstring or a declaration named in
    `WORDS` does not change it.

    Parameters
    ----------
    entries : dotted names of modules, in this package, in one beside it, or below the working
        folder

    Returns
    -------
    digest : 12 hexadecimal digits
    """
    whole = hashlib.sha256()
    for name, path in sorted(closure(*entries).items()):
        whole.update(f"{name} {_read(path)[0]}\n".encode())
    return whole.hexdigest()[:12]


def digests(*entries: str) -> dict[str, str]:
    """The digest of each module that `digest` depends on, by dotted name."""
    return {name: _read(path)[0][:12] for name, path in sorted(closure(*entries).items())}


@cache
def closure(*entries: str) -> dict[str, Path]:
    """The source files, by dotted name, that `entries` depend on: their modules, all modules
    imported from there, and the packages of both.

    Imports are followed in this package and those beside it, and below the working folder, not in
    other projects.
    """
    paths, waiting = {}, list(entries)
    while waiting:
        name = waiting.pop()
        if name in paths or (path := _source(name)) is None:
            continue
        paths[name] = path
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        waiting.append(name.rpartition(".")[0])
        waiting += [_absolute(imported, package) for imported in _read(path)[1]]
    _save_cache()
    return paths


def _absolute(name: str, package: str) -> str:
    """The absolute name of an import in a module of `package`, to which "..a.b" is relative."""
    bare = name.lstrip(".")
    dots = len(name) - len(bare)
    if not dots:
        return name
    parents = package.split(".")
    parents = parents[: len(parents) - dots + 1]  # one dot stands for the package itself
    return ".".join([*parents, bare]).strip(".")


@cache
def _source(name: str) -> Path | None:
    """The source file of a module; None if it belongs to another project.

    Packages beside this one are `scant_...`.
    """
    first, *rest = name.split(".")
    beside = first == PACKAGE.name or (
        first.startswith(f"{PACKAGE.name}_") and (PACKAGE.parent / first).is_dir()
    )
    stem = Path(PACKAGE.parent if beside else "", first, *rest)
    paths = (stem / "__init__.py", stem.with_name(f"{stem.name}.py")) if first else ()
    return next((path for path in paths if path.is_file()), None)


@cache
def _read(path: Path) -> tuple[str, list[str]]:
    """The digest of a source file's syntax tree, and the names of the modules and their members
    that it imports.
    """
    text = path.read_bytes()
    key = hashlib.sha256(_this_source() + text).hexdigest()
    if key not in _cached():
        tree = _Bare().visit(ast.parse(text, path))
        _cached()[key] = [
            hashlib.sha256(ast.dump(tree).encode()).hexdigest(),
            sorted(set(_imports(tree))),
        ]
    return tuple(_cached()[key])


@cache
def _this_source() -> bytes:
    """The source of this module, part of the cache's keys: if the way of reading changes, the cache
    is invalid.
    """
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
    """Removes from a syntax tree what changes no result: docstrings, and the declarations named in
    `WORDS`.
    """

    def visit_Expr(self, node):
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_ClassDef(self, node):
        node.body = [statement for statement in node.body if not _assigned(statement) & {*WORDS}]
        return self.generic_visit(node)

    def visit_Call(self, node):
        node.keywords = [
            keyword
            for keyword in node.keywords
            if keyword.arg not in WORDS or not isinstance(keyword.value, ast.Constant)
        ]
        return self.generic_visit(node)


def _assigned(statement: ast.stmt) -> set[str]:
    """The names that a statement assigns to."""
    targets = (
        statement.targets
        if isinstance(statement, ast.Assign)
        else [getattr(statement, "target", None)]
    )
    return {target.id for target in targets if isinstance(target, ast.Name)}


@cache
def _cached() -> dict[str, list]:
    """The digests and imports that earlier runs read, by a SHA-256 of the source: parsing all files
    takes a second.
    """
    with suppress(OSError, ValueError):
        return json.loads(CACHE.read_text())
    return {}


def _save_cache() -> None:
    """Save the cache for the next run, unless it is unchanged or cannot be written."""
    with suppress(OSError):
        latest = dict(list(_cached().items())[-MOST:])
        text = json.dumps(latest)
        if not CACHE.is_file() or CACHE.read_text() != text:
            write_text(CACHE, text)
