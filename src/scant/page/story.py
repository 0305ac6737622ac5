"""What a study found, as questions with answers: sentences made of its claims and their cells, or of who is best.

Families declare the questions, see `scant.families.Question`. A sentence follows from a claim's verdict alone, and its
numbers from the estimates behind that verdict: where the verdict is another, so is the sentence.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from markupsafe import Markup

from scant.families import Answer, Question
from scant.page.numbers import interval, measured, percent, shown, spread
from scant.verdict import words
from scant.verdict.readings import OVERALL

SENTENCES = 2  # of an answer, at most
PLACES = 3  # that a sentence names; of more it says how many
NAMED = re.compile(r"(?:proof of )?(?:Theorem|Lemma|Corollary|Proposition|Table|Algorithm) [\w.]*\w")
WIDTH = 2.0  # of a dot, in percent of the scale
DECIDED = words.VERDICTS[:2]


def story(
    questions: Iterable[Question], claims: Sequence[dict], figures: Mapping[str, dict], boards: Mapping[str, list[dict]]
) -> list[dict]:
    """The questions that a study can say something about, for the page's template.

    claims : as the page's template takes them, with their cells
    figures : of the study, as the template takes them, by name
    boards : the final measures of the experiments that each figure shows, see `scant.page.boards.board`

    Returns
    -------
    rows : `id` and `text` of the question, `figure` or None, `sentences`, each with `text` and
        `claim` (None if it is of no single claim), `sure`, how sure they are, and `claims`, those that were tested
    """
    told = []
    for question in questions:
        asked = [claim for claim in claims if _asks(question, claim)]
        tested = [claim for claim in asked if claim["verdict"] != words.UNTESTABLE]
        name = next((name for name in question.figures if name in figures), None)
        if not tested and name is None:
            continue
        by_id = {claim["id"]: claim for claim in tested}
        said = [(answer, by_id[answer.claim]) for answer in question.answers if answer.claim in by_id][:SENTENCES]
        sentences = [{"text": sentence(answer, claim), "claim": claim} for answer, claim in said]
        sure = _sure([claim for _, claim in said])
        if not sentences:
            texts = [_counted(tested)] if tested else [_best(board) for board in boards.get(name, [])[:SENTENCES]]
            if asked and not tested and not texts:
                texts = ["None of the claims about it could be tested here."]
            sentences = [{"text": text, "claim": None} for text in texts]
        about = {
            "id": question.id,
            "text": question.text,
            "figure": figures.get(name),
            "strip": strip(tested) if name is None else None,
        }
        told.append(about | {"sentences": sentences, "sure": sure, "claims": tested})
    return told


def _asks(question: Question, claim: dict) -> bool:
    of_kind = question.row in ("", claim["row"])
    return of_kind and any(fnmatchcase(claim["id"], pattern) for pattern in question.claims)


def sentence(answer: Answer, claim: dict) -> Markup:
    """What a claim came to, in words: who did what, where, and by how much.

    Cells that came out the other way by themselves are told, too.
    """
    verdict, control = claim["verdict"], claim["control"]
    cells = [cell for cell in claim["cells"] if cell["stream"] != OVERALL and cell["estimate"] is not None]
    groups = {name: [cell for cell in cells if cell["verdict"] == name] for name in DECIDED}
    if verdict == words.SILENT:
        return Markup("Whether {} {} cannot be told here: nothing that could be measured would deny it.").format(
            answer.subject, answer.holds
        )
    if verdict not in (*DECIDED, words.ALIKE):
        text = Markup("It is undecided whether {} {}{}").format(answer.subject, answer.holds, _numbers(claim, cells))
        some = words.cells(*(claim[f"cells_{of}"] for of in ("holding", "failing", "silent", "total")))
        return text + (Markup(": it {}.").format(some) if groups["holds"] or groups["fails"] else ".")
    does, doubt = (answer.fails, answer.holds) if verdict == "fails" else (answer.holds, answer.fails)
    agreed, other = (
        groups["fails" if verdict == "fails" else "holds"],
        groups["holds" if verdict == "fails" else "fails"],
    )
    mixed = agreed and other and len({cell["stream"] for cell in cells}) > 1
    text = Markup("{} {}{}{}").format(
        _capital(answer.subject), does, _places(agreed if mixed else cells), _numbers(claim, agreed if mixed else cells)
    )
    if mixed:
        again = _numbers(claim, other) if _pair(other) != _pair(agreed) else _numbers(claim, other, brief=True)
        text += Markup("; it {}{}{}").format(doubt, _places(other), again)
    if verdict == words.ALIKE:
        text += Markup("; but so does {}, which should not").format(control)
    return text + "."


def _places(cells: list[dict]) -> Markup:
    """On which streams: " on Digits and Yahoo"."""
    places = list(dict.fromkeys(cell["stream"] for cell in cells))
    if len(places) > PLACES:
        return Markup(" on {} streams").format(len(places))
    named = Markup(" and ").join(Markup("<i>{}</i>").format(place) for place in places)
    return Markup(" on {}").format(named) if places else Markup("")


def _numbers(claim: dict, cells: list[dict], brief: bool = False) -> Markup:
    """What was measured, in brackets; without cells, the claim's own estimate.

    brief : without what is compared
    """
    if not cells and claim["estimate"] is None:
        return Markup("")
    pair = "" if brief else _pair(cells) or claim["compared"]
    return Markup(" ({})").format(measured(cells or [claim], claim["measures"], pair))


def _pair(cells: list[dict]) -> str:
    """What cells compare: "SLAM minus ListNet"; "each minus ListNet" of several learners; "" if nothing in common."""
    against, learners = {cell["against"] for cell in cells}, {cell["learner"] for cell in cells}
    if len(against) != 1 or not (other := against.pop()):
        return ""
    return f"{learners.pop() if len(learners) == 1 else 'each'} minus {other}"


def _sure(claims: list[dict]) -> str:
    """On how many seeds answers rest, under how many readings they hold, and how many seeds would decide them."""
    if not claims:
        return ""
    seeds = [claim["n"] for claim in claims if claim["n"]]
    parts = [f"{spread(seeds, lambda n: f'{n:g}')} seeds"] if seeds else []
    holding = [claim for claim in claims if claim["verdict"] == "holds" and claim["readings_total"]]
    if any(claim["readings_total"] > 1 for claim in holding):
        agreed, tried = (sum(claim[f"readings_{of}"] for claim in holding) for of in ("holding", "total"))
        parts.append(f"{agreed} of {tried} readings agree")
    needed = [claim["needed"] for claim in claims if claim["verdict"] == "undecided" and claim["needed"] is not None]
    if needed:
        parts.append(f"{words.needed(max(needed))} would decide what is undecided")
    return "; ".join(parts)


def _counted(claims: list[dict]) -> Markup:
    """How many claims hold and fail, where those that fail are stated, and what share of the bounds is used."""
    counts = Counter(claim["verdict"] for claim in claims)
    holds, fails = (f"{counts[name]} {words.PLURAL[name] if counts[name] != 1 else name}" for name in DECIDED)
    text = Markup("Of {} tested, {} and {}").format(len(claims), holds, fails)
    if failing := [claim for claim in claims if claim["verdict"] == "fails"]:
        links = (
            Markup('<a href="#{}" title="{}">{}</a>').format(claim["anchor"], claim["statement"], name)
            for name, claim in {_printed(claim["place"]): claim for claim in reversed(failing)}.items()
        )
        text += Markup(": ") + Markup(", ").join(reversed(list(links)))
    text += Markup(".")
    shares = sorted(claim["tightness"] for claim in claims if claim["verdict"] == "holds" and claim["tightness"])
    if shares:
        half = shares[len(shares) // 2]
        text += Markup(" Of the bounds that hold {} is used, of half of them at most {}.").format(
            spread(shares, percent), percent(half)
        )
    return text


def _printed(place: str) -> str:
    """The name of a statement in its document, or else its section: "Lemma 29", "4.3.1"."""
    found = NAMED.search(place)
    return found[0] if found else place.partition(";")[0]


def strip(claims: list[dict]) -> dict | None:
    """Where to draw the shares of their bounds that claims used, on a scale of powers of ten; None if none has one.

    Returns
    -------
    strip : `dots`, each with `x` and `y`, from 0 to 100 and counted from the bottom, and its `claim`; `ticks`, each
        with `x` and `text`; `bound`, the x of the whole bound; and `height`, the most dots above each other
    """
    shares = [claim for claim in claims if claim["tightness"] and claim["verdict"] in DECIDED]
    if not shares:
        return None
    powers = [math.log10(claim["tightness"]) for claim in shares]
    least, most = math.floor(min(*powers, -1)), math.ceil(max(*powers, 1))

    def place(power: float) -> float:
        return round(100 * (power - least) / (most - least), 1)

    dots, stacked = [], Counter()
    for power, claim in sorted(zip(powers, shares, strict=True), key=lambda pair: pair[0]):
        x = round(place(power) / WIDTH) * WIDTH
        dots.append({"x": x, "y": stacked[x], "claim": claim})
        stacked[x] += 1
    ticks = [{"x": place(power), "text": _tick(power)} for power in range(least, most + 1)]
    return {"dots": dots, "ticks": ticks, "bound": place(0), "height": max(stacked.values())}


def _tick(power: int) -> str:
    return f"{shown(10.0 ** (power + 2))} %" if power < 1 else f"{shown(10.0**power)} times"


def _best(board: dict) -> Markup:
    """Who is best on each stream of an experiment, and how many cannot be told from it."""
    parts = []
    for at, stream in enumerate(board["streams"][:PLACES]):
        cells = [(row["learner"], row["cells"][at]) for row in board["rows"] if row["cells"][at]]
        name, best = next((learner, cell) for learner, cell in cells if cell["best"])
        alike = [learner for learner, cell in cells if not cell["told_apart"] and learner != name]
        part = Markup("{} is best on <i>{}</i> ({} of {})").format(
            name, stream, f"{shown(best['mean'])} {interval(best)}".strip(), board["measure"]
        )
        if alike:
            others = " and ".join(alike) if len(alike) < PLACES else f"{len(alike)} others"
            part += Markup(", and {} cannot be told from it").format(others)
        parts.append(part)
    return Markup("; ").join(parts) + "."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
