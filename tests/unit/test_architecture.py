"""The package's own rules: which modules may import which."""

import ast
import tomllib
from fnmatch import fnmatchcase
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import yaml

import scant
from scant.declare import families
from scant.study import code

SOURCE = Path(scant.__file__).parents[1]
MODULES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path
    for package in ("scant", "scant_ads")
    for path in sorted((SOURCE / package).rglob("*.py"))
}
FOLDERS = [f"{dotted.rpartition('.')[0]}*" for dotted in families.FAMILIES.values()]
# From top to bottom; a module is of the first layer that it fits. It imports from its own and from
# those below it.
LAYERS = yaml.safe_load("""
the practitioners' tool: [scant_ads*]
command line: [scant.cli, scant.client, scant.serving, scant.__main__, scant.jobs, scant.notebook]
page: [scant.page*, scant.finished*, scant.compiling, scant.starting, scant.starter*]
verdict: [scant.verdict*]
presenting: [scant.present*, scant.*.frames*, scant.*.drawing*, scant.*.quantities, scant.*.traces,
  scant.games.atlas, scant.rankers.variance, scant.*.theorems]
study and families: [scant.study*, scant.declare.families, scant.*.family, scant.*.questions,
  scant.rankers.streams]
engines: [scant.bandits*]
data and theory: [scant.data*, scant.theory*, scant.surrogates]
shared: [scant.declare.declarations, scant.schema, scant.declare.runs, scant.declare.own,
  scant.measures, scant.files, scant.randomness]
bottom: [scant.kernels*, scant.errors, scant, scant.declare]
""")
LAYERS["engines"] += FOLDERS
# What runs are made by: the modules that jobs start from, and all that knows nothing of studies.
ENGINES = [*(family.code for family in families.families().values()), *yaml.safe_load("""
[scant.rankers.comparator, scant.ads.draw, scant.bandits.campaigns, scant.ads.coverage,
 scant.kernels*, scant.theory*, scant.data*, scant.measures, scant.surrogates, scant.files,
 scant.errors, scant.randomness, scant.declare.runs, scant.declare.own]
""")]  # fmt: skip


class _AtImport(ast.NodeTransformer):
    """Leaves of a module what runs when it is imported."""

    def visit_FunctionDef(self, node):
        return None

    visit_AsyncFunctionDef = visit_FunctionDef


def imports(name, path, at_import=False):
    """The modules of this package that one imports: anywhere, or when it is imported itself."""
    tree = ast.parse(path.read_bytes())
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    asked = code._imports(_AtImport().visit(tree) if at_import else tree)
    found = {code._absolute(imported, package) for imported in asked}
    found |= {
        ".".join(parts[:n])
        for parts in (name.split(".") for name in found)
        for n in range(1, len(parts))
    }
    return (found & {*MODULES}) - {name}


ANYWHERE = {name: imports(name, path) for name, path in MODULES.items()}
AT_IMPORT = {name: imports(name, path, at_import=True) for name, path in MODULES.items()}


def fits(name, patterns):
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def layer(name):
    """The number of a module's layer, from the top."""
    return next(number for number, patterns in enumerate(LAYERS.values()) if fits(name, patterns))


def offences(entries, forbidden):
    """Who imports what is forbidden, among all modules that some modules come to import."""
    found = {*code.closure(*entries)}
    assert {*entries} <= found
    return [
        f"{name} -> {other}" for name in found for other in ANYWHERE[name] if fits(other, forbidden)
    ]


def test_every_module_is_of_a_layer_and_every_layer_has_one():
    assert {layer(name) for name in MODULES} == {*range(len(LAYERS))}


def test_modules_import_downwards():
    up = [
        f"{name} -> {other}"
        for name in MODULES
        for other in AT_IMPORT[name]
        if layer(other) < layer(name)
    ]
    assert not up


def test_no_circle_of_modules():
    """Nor one by imports inside functions; that a package hands on names of its modules is none."""
    asked = {
        name: {other for other in ANYWHERE[name] if not name.startswith(f"{other}.")}
        for name in MODULES
    }
    for graph in (AT_IMPORT, asked):
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            pytest.fail(" -> ".join(error.args[1]))


def test_kernels_import_kernels_and_errors_alone():
    for name in MODULES:
        if fits(name, ["scant.kernels*"]):
            assert all(
                fits(other, ["scant", "scant.kernels*", "scant.errors"]) for other in ANYWHERE[name]
            ), name


def test_engines_know_nothing_of_studies_and_reports():
    entries = [name for name in MODULES if fits(name, ENGINES)]
    above = ["study", "present", "verdict", "page"]
    forbidden = [*(f"scant.{room}*" for room in above), "scant.*.family", "scant.declare.families"]
    forbidden += ["scant.cli"]
    assert not offences(entries, forbidden)


def test_a_study_knows_nothing_of_its_reports():
    entries = [name for name in MODULES if fits(name, ["scant.study*"])]
    assert not offences(entries, ["scant.present*", "scant.verdict*", "scant.page*", "scant.cli"])


def test_the_tool_of_practitioners_imports_scant_and_scant_never_imports_it():
    """Commands and readers are found by the entry points that pyproject.toml declares."""
    tool = {name for name in MODULES if fits(name, ["scant_ads*"])}
    assert not {name for name in MODULES.keys() - tool if ANYWHERE[name] & tool}
    assert any(ANYWHERE[name] - tool for name in tool)
    declared = tomllib.loads((SOURCE.parent / "pyproject.toml").read_text())["project"][
        "entry-points"
    ]
    assert {f"scant_ads.{module}" for module in ("commands", "reading.formats")} == {
        value.partition(":")[0] for group in declared.values() for value in group.values()
    }
    for group, entries in declared.items():
        assert {entry.name: entry.value for entry in entry_points(group=group)} == entries
        assert all(callable(entry.load()) for entry in entry_points(group=group))
