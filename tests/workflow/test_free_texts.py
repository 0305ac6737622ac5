"""Free texts of a study (titles, words, sources) come to its page as they are."""

import json
import re
import zipfile
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
import yaml
from projects import ROOT, Forked

from scant.cli import main
from scant.schema import _resolved, read_yaml
from scant.study.schema import schema

pytestmark = pytest.mark.slow
NASTY = (
    "{input} {{x}} {0} $x^{2}$ \"q\" 'q' $(touch pwned) `touch pwned` ; touch pwned # "
    "<script>pwned()</script> "
    "<marquee> &amp; & | \\frac{ \\input{x} % _ ~ ^ [[ ]] %s |x|_ **x** =1+1 ,\t; \n next\r\nlast "
    "\u2028 é 😀"
)
# titles of learners, of which the first is drawn as such
MATHS = {"listnet": "$x^{2}$", "random": "$\\frac{$"}
STUDY = yaml.safe_load("""
study: texts
seed: 1
claims: [config/claims/texts.json]  # where claims about papers are: theorems are checked, too
attribution: {publisher: ""}
datasets:
  own:
    task: ads
    parser: log
    terms: ""
    get: ""
    parts:
      targeted: {file: examples/logs/targeted.csv}
      uniform: {file: examples/logs/uniform.csv}
streams:
  linear: {generator: linear, settings: {queries: 20, documents: 4, features: 3}}
  visited: {dataset: digits, retrieval: {queries: 20, documents: 6}}
click_logs: {look: {stream: visited, places: 2, visits: 50, held_out: 4, logging_queries: 2}}
games: {flip: {stream: flip, settings: {items: 3, relevant: 1}, loss: dcg}}
logs: {own: {dataset: own, train: targeted, test: uniform}}
populations: {noisy: {generator: linear, settings: {grades: 2, noise: 0.5}}}
learners:
  slam: {kind: slam}
  listnet: {kind: listnet}
  random: {kind: random}
  ftpl: {kind: ftpl}
  uniform: {kind: uniform}
  erm: {kind: erm-l2, surrogate: listnet}
  as-is: {kind: clicks-as-is}
experiments:
  clicks:
    {kind: rankings, click_logs: [look], learners: [as-is], seeds: 2, visits: [20, 50],
     figures: [figure-learning]}
  online:
    {streams: [linear], learners: [slam, listnet, random], rounds: 20, seeds: 2,
     figures: [figure-2.2]}
  games:
    {kind: fixed-items, games: [flip], learners: [ftpl], rounds: 20, seeds: 2,
     figures: [figure-games-rounds]}
  ads: {kind: ads, logs: [own], learners: [uniform], seeds: 2, figures: [figure-logs]}
  generalisation:
    {kind: generalisation, populations: [noisy], learners: [erm], seeds: 2, n: [8, 12, 16],
     figures: [figure-generalisation-n]}
""")
ADDRESS = "https://e.org/?a='b'&c=(d)#"
SOURCE = dict.fromkeys(("title", "authors", "place", "named", "words"), "")
CLAIM = {"source": SOURCE, "statement": "", "chosen": "", "family": "texts", "data": ""}
CLAIMS = {
    "learns": CLAIM | yaml.safe_load("""
        quantity: final
        comparison: less
        where: {kind: perceptron}
        learner: {kind: slam}
        against: {kind: listnet}
        control: {words: "", learner: {kind: listnet}}
    """),
    "says": CLAIM | yaml.safe_load(
        """{quantity: table, table: observability, cell: {measure: sum-loss, m: 3, k: 1},
        column: rate, comparison: exact, expected: "", control: {words: "",
        expected: ""}}"""
    ),
}  # fmt: skip
RESULTS = "results/texts"
# Not on the page: whose archives are, where data are got, what claims need and expect, the title of
# a figure's only experiment, what a statement is in its source where it does not fail.
UNSEEN = {
    ("attribution", "publisher"), ("datasets", "own", "get"), ("learns", "data"), ("says", "data"),
    ("says", "expected"), ("says", "control", "expected"),
    ("experiments", "generalisation", "title"), ("streams", "visited", "title"),
    ("learns", "source", "named"), ("says", "source", "named"),
}  # fmt: skip
# Some of what each figure shows: titles.
FIGURES = yaml.safe_load("""
figure-2.2: [[streams, linear], [learners, slam], [experiments, online]]
figure-games-rounds: [[games, flip], [learners, ftpl]]
figure-logs: [[logs, own], [learners, uniform], [experiments, ads]]
figure-generalisation-n: [[populations, noisy], [learners, erm]]
figure-learning: [[click_logs, look], [learners, as-is]]
""")
NAMES = {  # settings that are text, but name something or are a path
    "baseline", "black_box", "bound", "claims", "figure", "file", "folder", "generator", "judged",
    "loss", "members", "mirror",
    "parser", "plays", "quantity",
}  # fmt: skip


def free_texts(rule: dict, root: dict, path: tuple = ()):
    """Where a JSON schema allows any text, "*" for any id, with the pattern it has to keep."""
    rule = _resolved(rule, root)
    types = rule.get("type", ())
    pattern = rule.get("pattern", "")
    if (
        "string" in types
        and "enum" not in rule
        and re.search(pattern, "A {x} <b>.")
        and path[-1] not in NAMES
    ):
        yield path, pattern
    for key, part in rule.get("properties", {}).items():
        yield from free_texts(part, root, (*path, key)) if isinstance(part, dict) else ()
    for clause in rule.get("allOf", ()):
        yield from free_texts(clause.get("then", {}), root, path)
    if isinstance(others := rule.get("additionalProperties"), dict) and len(path) < 5:
        yield from free_texts(others, root, (*path, "*"))


def fill(content: dict, path: tuple, pattern: str, texts: dict, above: tuple = ()) -> None:
    """Put a new text at each place of a path, and its own path into `texts`."""
    key, *rest = path
    for name in content if key == "*" else {key} & content.keys():
        if rest:
            fill(content[name], rest, pattern, texts, (*above, name))
        else:
            text = f"T{len(texts)} {NASTY}."
            content[name] = text if re.search(pattern, text) else one_line(text)
            texts[content[name]] = (*above, name)


def one_line(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def written():
    """Settings and claims with a text of its own wherever any may be, and the places by text."""
    study, claims, texts = *json.loads(json.dumps([STUDY, CLAIMS])), {}
    titled = ("datasets", "streams", "games", "logs", "click_logs", "populations", "learners")
    titled += ("experiments",)
    for entry in (entry for section in titled for entry in study[section].values()):
        entry["title"] = ""
    of_claims, of_datasets = (
        read_yaml(ROOT / f"workflow/schemas/{name}.schema.yaml") for name in ("claims", "datasets")
    )
    of_own = {"properties": {"datasets": {"additionalProperties": of_datasets["$defs"]["dataset"]}}}
    for content, rule, root in (
        (study, schema(), schema()), (claims, of_claims, of_claims), (study, of_own, of_datasets),
    ):  # fmt: skip
        for path, pattern in dict.fromkeys(free_texts(rule, root)):
            before = len(texts)
            fill(content, path, pattern, texts)
            assert len(texts) > before, f"no text is tried for {path}"
    for name, claim in claims.items():
        claim["source"]["url"] = ADDRESS + name
    for learner, title in MATHS.items():
        del texts[study["learners"][learner]["title"]]
        study["learners"][learner]["title"] = title
    return study, claims, texts


@pytest.fixture(scope="module")
def project(tmp_path_factory, written):
    """A project after a study with these texts."""
    study, claims, _ = written
    project = Forked(tmp_path_factory.mktemp("texts") / "project")
    project.write(study, "texts")
    (project.folder / "config/claims/texts.json").write_text(json.dumps(claims))
    project.snakemake("--cores", 2, study="texts")
    return project


class Shown(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self, page: str):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.text += " " * (tag in ("text", "tspan"))  # lines of a figure's text

    def handle_data(self, data):
        self.text += data


def drawn_texts(svg) -> list[str]:
    """The lines of text that a figure shows."""
    texts = ElementTree.parse(svg).iter("{http://www.w3.org/2000/svg}text")
    return [one_line("".join(text.itertext())) for text in texts]


def test_the_page_shows_each_text_as_it_is(project, written):
    page = Shown((project.folder / RESULTS / "report.html").read_text())
    assert {
        path for text, path in written[2].items() if one_line(text) not in one_line(page.text)
    } == UNSEEN
    assert page.tags.count("script") == 1 and "marquee" not in page.tags
    assert not [*project.folder.rglob("pwned*")], "a text was run as a command"


def test_figures_show_titles_as_they_are(project, written):
    drawn = {
        path.stem: drawn_texts(path)
        for path in (project.folder / RESULTS / "figures").glob("*.svg")
    }
    texts = {path: one_line(text) for text, path in written[2].items()}
    for figure, paths in FIGURES.items():
        titles = [texts[*path, "title"] for path in paths]
        assert not [title for title in titles if title not in " ".join(drawn[figure])]
    assert MATHS["random"] in drawn["figure-2.2"] and MATHS["listnet"] not in drawn["figure-2.2"]


def test_tables_in_latex_have_their_cells(project):
    tables = [*(project.folder / RESULTS).rglob("*.tex")]
    assert len(tables) > 15
    for table in tables:
        rows = [line for line in table.read_text().splitlines() if line.endswith(r" \\")]
        commands = r"^{}|\\[&%$#_{}]|\\text\w+{}|\\ensuremath{(-|\\\w+)}"
        plain = [re.sub(commands, "", row.removesuffix(r" \\")) for row in rows]
        assert not [row for row in plain if re.search(r"[\\%$#_{}^~]", row)], table
        assert len({row.count("&") for row in plain}) == 1, table


def test_commands_print_and_write_them(project, written, tmp_path, monkeypatch, capsys):
    study, claims, _ = written
    monkeypatch.chdir(project.folder)
    # the workflow is that of the copy
    for module in ("archive", "manifest", "provenance", "verifying"):
        monkeypatch.setattr(f"scant.finished.{module}.PROJECT", project.folder, raising=False)
    own = study["datasets"]["own"] | {"home": ADDRESS}
    own["parts"] = {name: part | {"sha256": "0" * 64} for name, part in own["parts"].items()}
    (tmp_path / "registry.json").write_text(json.dumps({"own": own}))
    for arguments in (
        ["show", RESULTS], ["show", RESULTS, "--cells"],
        *(["show", RESULTS, "--claim", name] for name in claims),
        ["show", RESULTS, "observability"], ["table", RESULTS, "--experiment", "online"],
        ["reference", RESULTS],
        ["compare", RESULTS, "reference", "--output", tmp_path / "diff.csv"],
        ["archive", RESULTS, "--output", tmp_path / "texts.zip"], ["verify", RESULTS],
        ["datasets", "--registry", tmp_path / "registry.json"],
    ):  # fmt: skip
        assert main([*map(str, arguments)]) == 0, capsys.readouterr().err
        assert capsys.readouterr().out.replace("\n", "").isprintable(), arguments
    with zipfile.ZipFile(tmp_path / "texts.zip") as archive:
        crate = json.loads(archive.read("ro-crate-metadata.json"))
    result = {claim["source"]["title"] for claim in claims.values()}
    assert result <= {entity.get("name") for entity in crate["@graph"]}
