"""The code that a job depends on: what is followed, which edits count, what is remembered."""

import ast
import inspect
import json
import re
from pathlib import Path

import pytest

from scant import jobs
from scant.declare import families
from scant.study import code
from scant.study.digests import Digests
from scant.verdict import selection

ROOT = Path(__file__).parents[2]
CACHED = (code.digest, code.closure, code._source, code._read, code._cached)
MODULE = '''
"""What the module is of."""

from scant.tools import helper  # a comment

LOOKS = {"line": "-"}


class Learner(Base):
    """What it learns."""

    looks = {"": "red"}
    caption: str = "Regret"
    kind = "plain"
    settings = (Setting("rate", default=1, about="its step"),)

    def step(self, about=None):
        """One step.

        about : what for
        """
        about = {"about": "rounds"}
        return helper(about, caption=self.kind)
'''


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A function that writes files of a stand-in package, or of the working folder: path, text."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(code, "PACKAGE", tmp_path / "src/scant")
    monkeypatch.setattr(code, "CACHE", tmp_path / "cache.json")

    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        forget()

    write({"src/scant/__init__.py": ""})
    yield write
    forget()


def forget():
    """Read anew, as another process would."""
    for function in CACHED:
        function.cache_clear()


def names(*entries):
    return set(code.closure(*entries))


# --- what is followed
@pytest.mark.parametrize(
    ("entry", "inside", "outside"),
    [
        (
            "scant.ads.run",
            ("scant.kernels", "scant.kernels.pairs", "scant.kernels.pieces", "scant.data.logs"),
            "scant_ads",
        ),
        (
            "scant.rankers.run",
            ("scant.rankers.play", "scant.kernels.top", "scant.theory.bounds"),
            "scant.games",
        ),
        (
            "scant_ads.reading.formats",
            ("scant_ads", "scant_ads.reading.wabbit", "scant.data.logs"),
            "scant.kernels",
        ),
    ],
)
def test_a_job_depends_on_what_it_imports_wherever_the_import_stands(entry, inside, outside):
    found = names(entry)
    assert {entry, "scant", *inside} <= found
    assert not [name for name in found if name.startswith(outside)]
    assert all(path.is_file() for path in code.closure(entry).values())


def test_imports_are_followed_in_whatever_form(package):
    package(
        {
            "src/scant/a.py": (
                "import scant.b\nfrom scant import c\nimport scant.inner.d as e, numpy\n"
            ),
            "src/scant/b.py": "def f():\n    from scant.late import g\n    return g\n",
            "src/scant/c.py": (
                "if True:\n    try:\n        import scant.tried\n    except "
                "ImportError:\n        pass\n"
            ),
            "src/scant/inner/__init__.py": "from scant import of_package\n",
            "src/scant/inner/d.py": "class Holder:\n    from scant.b import f, h\n",
            **{
                f"src/scant/{name}.py": ""
                for name in ("late", "tried", "of_package", "not_imported")
            },
        }
    )
    modules = ("a", "b", "c", "inner", "inner.d", "late", "tried", "of_package")
    assert names("scant.a") == {"scant", *(f"scant.{name}" for name in modules)}


def test_relative_imports_are_followed_in_a_package_of_ones_own(package):
    package(
        {
            "mine/__init__.py": "from . import base\n",
            "mine/base.py": "",
            "mine/deep/__init__.py": "from .near import f\n",
            "mine/deep/near.py": "from ..far import g\n",
            "mine/deep/learner.py": "from .. import shared\n",
            "mine/far.py": "",
            "mine/shared.py": "",
        }
    )
    modules = ("base", "deep", "deep.near", "deep.learner", "far", "shared")
    assert names("mine.deep.learner") == {"mine", *(f"mine.{name}" for name in modules)}


def test_a_module_of_ones_own_is_followed_into_what_it_imports(package):
    package(
        {
            "learner.py": (
                "import json\nimport numpy as np\nfrom scant.tools import helper\nimport parts\n"
            ),
            "parts.py": "import more.parts\n",
            "more/parts.py": "",  # of a package without an __init__.py
            "src/scant/tools.py": "from scant import files\n",
            "src/scant/files.py": "",
        }
    )
    assert names("learner") == {
        "learner",
        "parts",
        "more.parts",
        "scant",
        "scant.tools",
        "scant.files",
    }
    before = code.digest("learner")
    package({"more/parts.py": "EDITED = True\n"})
    assert code.digest("learner") != before


# --- which edits count
@pytest.fixture
def edited(package):
    """A function that edits `MODULE` and says whether the digest is another."""
    package(
        {
            "src/scant/tools.py": "def helper(x, caption):\n    return x\n",
            "src/scant/learner.py": MODULE,
        }
    )
    before = code.digest("scant.learner")

    def edit(old, new):
        assert MODULE.count(old) == 1
        package({"src/scant/learner.py": MODULE.replace(old, new)})
        return code.digest("scant.learner") != before

    return edit


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# a comment", ""),
        ('"""What the module is of."""', ""),
        ("What it learns.", "What it has learnt."),
        ('looks = {"": "red"}', 'looks = {"": "blue", "ap": "red"}'),
        ('    looks = {"": "red"}\n', ""),
        ('caption: str = "Regret"', 'caption: str = "Regret by round"'),
        (', about="its step"', ""),
    ],
)
def test_words_looks_and_layout_do_not_count(edited, old, new):
    assert not edited(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("default=1", "default=2"),
        ('LOOKS = {"line": "-"}', 'LOOKS = {"line": ":"}'),
        ('LOOKS = {"line": "-"}', 'looks = {"line": "-"}'),  # of a module: an ordinary variable
        ('about = {"about": "rounds"}', 'about = {"about": "items"}'),  # so is one of a function
        ("caption=self.kind", "caption=self.looks"),  # worked out, not words
        ('about="its step"', "about=text()"),
        ("return helper", "helper"),
    ],
)
def test_any_other_edit_counts(edited, old, new):
    assert edited(old, new)


def test_an_edit_counts_wherever_it_is_imported_from_and_only_there(edited, package):
    before = code.digest("scant.learner")
    package({"src/scant/unrelated.py": "X = 1\n"})
    assert code.digest("scant.learner") == before
    package({"src/scant/tools.py": "def helper(x, caption):\n    return x + 1\n"})
    assert code.digest("scant.learner") != before


# --- what is remembered
def test_what_was_read_is_cached_and_parsed_once(package, monkeypatch):
    package({"src/scant/a.py": "import scant.b\n", "src/scant/b.py": "X = 1\n"})
    before = code.digest("scant.a")
    assert len(json.loads(code.CACHE.read_text())) == 3
    forget()
    with monkeypatch.context() as patch:
        patch.setattr(code.ast, "parse", lambda *_: pytest.fail("parsed again"))
        assert code.digest("scant.a") == before
    package({"src/scant/b.py": "X = 2\n"})
    assert code.digest("scant.a") != before


# --- what rules ask for
RULES = "\n".join(path.read_text() for path in sorted((ROOT / "rules").glob("*.smk")))
# the modules that a digest is of besides those that it names, by how it asks for them
WORKED_OUT = {
    "selection.modules(CLAIMS)": selection.modules({}),
    "target.shown.modules": [module for _, shown in families.shown() for module in shown.modules],
    "settled.code": [family.code for family in families.families().values()],
}
# They find by name what is run, whose code is asked for.
LOOKED_UP = {"scant.data", "scant.data.registry", "scant.declare.declarations"}
LOOKED_UP |= {"scant.data.conversion"}  # refuses a file or passes it on
# what digests are made by
LOOKED_UP |= {"scant.study", "scant.study.plan", "scant.study.settings", "scant.study.code"}
LOOKED_UP |= {"scant.ads.family", "scant.clicklogs.family", "scant.games.family"}
LOOKED_UP |= {"scant.verdict.selection"}


def digested():
    """For each rule that runs a job: its name, and the modules that its digests are of."""
    for text in re.split(r"^ *rule\b", RULES, flags=re.MULTILINE)[1:]:
        if not (job := re.search(r'"scant job (\w+) ', text)):
            continue
        for method in re.findall(r"DIGESTS\.(\w+)", text):
            text += inspect.getsource(getattr(Digests, method)).replace(
                "self._target", inspect.getsource(Digests._target)
            )
        for use in ("digest=JUDGED", ", JUDGING", "*REPORT"):  # names that rules share
            name = re.search(r"\w+$", use)[0]
            defined = re.search(rf"^{name} = .*", RULES, re.MULTILINE)[0]
            text += f"\n{defined}" if use in text else ""
        wanted = r"code(?:\.digest)?\(.*|^REPORT = .*|.*settled\.code.*"
        asked = "".join(re.findall(wanted, text, re.MULTILINE))
        modules = re.findall(r'"(scant\.[\w.]+)"', asked)
        modules += [
            module for words, found in WORKED_OUT.items() if words in asked for module in found
        ]
        yield pytest.param(job[1], modules, id=job[1])


def test_every_job_has_a_rule():
    functions = {
        name for name, job in vars(jobs).items() if getattr(job, "__module__", "") == jobs.__name__
    }
    called = [parameters.values[0] for parameters in digested()]
    assert sorted(called) == sorted(name for name in functions if not name.startswith("_"))


@pytest.mark.parametrize(("job", "modules"), list(digested()))
def test_a_rule_s_digest_is_of_all_that_its_job_imports(job, modules):
    body = ast.parse(inspect.getsource(getattr(jobs, job)))
    imported = {name for name in code._imports(body) if code._source(name)} - LOOKED_UP
    assert modules and imported <= names(*modules)
