"""What a study found, as questions with answers: sentences made of its claims and their cells, or
of who is best.

Families declare the questions, see `scant.declare.families.Question`. A sentence follows from a
claim's verdict alone, and its numbers from the estimates behind that verdict.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from markupsafe import Markup

from scant.declare.families import Answer, Question
from scant.page.numbers import DIFFERENCE, measured, percent, shown, spread
from scant.verdict import words
from scant.verdict.readings import OVERALL

SENTENCES = 2  # of an answer, at most
WORDS = 14  # of a heading, at most
PLACES = 3  # that a sentence names; of more it says how many
WIDTH = 2.0  # of a dot, in percent of the scale


def story(
    questions: Iterable[Question],
    claims: Sequence[dict],
    figures: Mapping[str, dict],
    boards: Mapping[str, list[dict]],
) -> list[dict]:
    """The questions that a study can say something about, for the page's template.

    claims : as the page's template takes them, with their cells
    figures : of the study, as the template takes them, by name
    boards : the final measures of the experiments that each figure shows, see
        `scant.page.boards.board`

    Returns
    -------
    rows : `id` and `text` of the question; `figure` or None; its `finding`; `sentences`, each with
        `text` and `claim` (None if it is of no single claim); `claims`, the tested ones; `strip`,
        of a question without a figure
    """
    answered = []
    for question in questions:
        asked = [claim for claim in claims if _asks(question, claim)]
        tested = [claim for claim in asked if claim["verdict"] != words.UNTESTABLE]
        name = next((name for name in question.figures if name in figures), None)
        if not tested and (name is None or not question.alone):
            continue
        row = {
            "id": question.id,
            "text": question.text,
            "figure": figures.get(name),
            "claims": tested,
            "strip": strip(tested) if name is None else None,
        }
        if tested:
            answered.append(row | _answered(question, tested))
        else:
            answered.append(row | _by_boards(question, boards.get(name, [])))
    return answered


def _answered(question: Question, tested: list[dict]) -> dict:
    """The answer to a question from claims: `finding`, and the `sentences` behind it."""
    by_id = {claim["id"]: claim for claim in tested}
    answers = [answer for answer in question.answers if answer.claim in by_id]
    answers.sort(key=lambda answer: _openness(by_id[answer.claim]))
    if not answers:
        counted = {"text": _counted(tested), "claim": None}
        return {"finding": _tally(question, tested), "sentences": [counted]}
    sentences = []
    for place, answer in enumerate(answers[:SENTENCES]):
        claim = by_id[answer.claim]
        first = finding(answer, claim) + Markup(".") if place else ""
        text = Markup(" ").join(filter(None, [first, behind(claim)]))
        sentences.append({"text": text, "claim": claim})
    return {"finding": finding(answers[0], by_id[answers[0].claim]), "sentences": sentences}


def _by_boards(question: Question, boards: list[dict]) -> dict:
    """The answer if no claim was tested: who is best in its figure's experiments."""
    if not boards:
        return {"finding": question.text, "sentences": []}
    first = boards[0]
    sentences = [{"text": _best(board), "claim": None} for board in boards[:SENTENCES]]
    text = f"Who has the best {first['measure']}?"
    finding = Markup("{} is best on <i>{}</i>").format(first["best"][0], first["streams"][0])
    if alike := _alike(first, 0):
        finding += Markup(", not told apart from {}").format(_listed(alike))
    return {"finding": finding, "text": text, "sentences": sentences}


def _tally(question: Question, claims: list[dict]) -> str:
    """How many of the claims of a question fail, as its finding: "13 of 58 theorem checks fail"."""
    if not any(claim["verdict"] in words.DECIDED for claim in claims):
        return "Undecided so far"
    fails = sum(claim["verdict"] == "fails" for claim in claims)
    verb = "fails" if fails < 2 else "fail"
    of = f"{words.ROWS[question.row][0]} {verb} as printed" if question.row else f"claims {verb}"
    return f"{fails or 'None'} of {len(claims)} {of}"


def _openness(claim: dict) -> int:
    """0 for a claim that is decided, 1 for one decided on some streams alone, else 2."""
    if claim["verdict"] in words.DECIDED:
        return 0
    decided, _ = _in_part(claim)
    return 1 if decided else 2


def _in_part(claim: dict) -> tuple[list[dict], list[dict]]:
    """The decided and the undecided cells of an undecided claim. The first are none if their
    verdicts differ, or if the mean over cells decides the claim.
    """
    cells = [] if _overall(claim) else _sides(claim)[0]
    decided = [cell for cell in cells if cell["verdict"] in words.DECIDED]
    rest = [cell for cell in cells if cell["verdict"] == "undecided"]
    alike = len({cell["verdict"] for cell in decided}) == 1
    return (decided if alike and rest else []), rest


def _asks(question: Question, claim: dict) -> bool:
    of_kind = question.row in ("", claim["row"])
    return of_kind and any(fnmatchcase(claim["id"], pattern) for pattern in question.claims)


def finding(answer: Answer, claim: dict) -> Markup:
    """What was found, in a clause: "PDGD ranks better than DBGD on Digits, by 0.069 of NDCG@10".

    Size and streams stand in it as far as there is room; `behind` says both.
    """
    verdict = claim["verdict"]
    subject, holds = _capital(answer.subject), answer.holds
    if verdict in (words.SILENT, words.ALIKE):
        why = "Not refutable here" if verdict == words.SILENT else "Like its control"
        return Markup("{}: {} {}").format(why, answer.subject, holds)
    if verdict == "undecided":
        some, rest = _in_part(claim)
        if not some:
            return Markup("Undecided: whether {} {}").format(answer.subject, holds)
        said = holds if some[0]["verdict"] == "holds" else answer.fails
        sides = _told_apart(some, rest)
        full = Markup("{} {}{}; undecided{}").format(subject, said, *sides)
        return _fitting(full, Markup("In part: {} {}").format(answer.subject, said))
    agreed, contrary, _ = _sides(claim)
    if verdict == words.DIFFERS:
        sides = _told_apart(agreed, contrary)
        full = Markup("{} {}{}, not{}").format(subject, holds, *sides)
        return _fitting(full, Markup("Not everywhere: {} {}").format(answer.subject, holds))
    said = answer.fails if verdict == "fails" else holds
    clause, mean = Markup("{} {}").format(subject, said), _overall(claim)
    where, briefly = _where(claim), " on average" if mean else ""
    size = _size(claim, mean or agreed, clause)
    endings = (where + size, briefly + size, where, briefly)
    return _fitting(*(clause + ending for ending in endings))


def _fitting(*clauses: Markup) -> Markup:
    """The first of some clauses that has no more words than a heading; else the last."""
    fitting = (clause for clause in clauses if len(clause.striptags().split()) <= WORDS)
    return next(fitting, clauses[-1])


def _where(claim: dict) -> Markup:
    """Where a claim's verdict is so: " on Digits, not on Letters", " in the mean over 5 cells"."""
    agreed, contrary, _ = _sides(claim)
    if _overall(claim):
        return Markup(f" in the mean over {len(agreed)} cells")
    where = _places(agreed)
    return where + Markup(", not{}").format(_places(contrary)) if contrary else where


def _size(claim: dict, cells: list[dict], text: str) -> str:
    """How large the estimates of cells are: ", by 0.069 of NDCG@10", ": 2 % of the bound".

    text : the finding so far, which may name the unit already
    """
    counted = _counted_by_seeds(cells)
    if not counted:
        return ""
    estimates, unit = [abs(cell["estimate"]) for cell in counted], claim["measures"]
    if unit.startswith(DIFFERENCE) and all(0.0 in (cell["from"], cell["to"]) for cell in counted):
        unit = unit.removeprefix(DIFFERENCE)
        return f", by {spread(estimates)}" + ("" if unit in text else f" of {unit}")
    return f": {measured([cell | {'low': None} for cell in counted], unit)}"


def _counted_by_seeds(cells: list[dict]) -> list[dict]:
    """The cells of which it is known how many seeds agree with the verdict."""
    return [cell for cell in cells if cell["agreeing"] is not None]


def _seeds(cells: list[dict]) -> str:
    """In how many seeds each of some cells is as its verdict says: "in 14 of 16 seeds or more"."""
    least = min(cells, key=lambda cell: cell["agreeing"] / cell["n"])
    more = " or more" if len({cell["agreeing"] / cell["n"] for cell in cells}) > 1 else ""
    return f"in {least['agreeing']:g} of {least['n']} seeds{more}"


def behind(claim: dict) -> Markup:
    """What is behind a finding, in a sentence: what was measured, with its interval, in how many
    seeds it is so, and how many seeds would decide it.
    """
    texts = _by_side(claim) if _openness(claim) == 1 else evidence(claim)
    deciding = _overturning(claim) if claim["verdict"] == "undecided" else ""
    text = Markup("; ").join(filter(None, [*texts, deciding]))
    return Markup("{}.").format(_capital(text)) if text else Markup("")


def _by_side(claim: dict) -> list[Markup]:
    """Of a claim that is undecided, two clauses, on its decided and on its undecided cells: their
    numbers, and in how many seeds they are so.
    """
    sides, texts = _in_part(claim), _numbers_of_sides(claim, *_in_part(claim))
    for place, (cells, how) in enumerate(zip(sides, ("so", "as claimed"), strict=True)):
        if len(_counted_by_seeds(cells)) == len(cells):
            texts[place] += f", {how} {_seeds(cells)}"
    return texts


def _numbers_of_sides(claim: dict, *sides: list[dict]) -> list[Markup]:
    """A clause for each of two sides: its numbers and where they are from. What is compared is said
    once, if both compare the same.
    """
    first, second = map(_pair, sides)
    briefs = (not second, not first or first == second)
    parts = zip(sides, briefs, _told_apart(*sides), strict=True)
    return [_numbers(claim, cells, brief) + where for cells, brief, where in parts]


def beside(claim: Mapping) -> str:
    """The text beside a claim: in how many seeds of the cell that decides it is so, what would
    overturn it, and the worst seed.
    """
    if claim["agreeing"] is None:
        return ""
    so = words.agreeing(claim["agreeing"], claim["n"], claim["agreeing_least"])
    where = f" ({claim['deciding']})" if claim["cells_total"] > 1 and claim["deciding"] else ""
    parts = [f"{'as claimed' if claim['verdict'] == 'undecided' else 'so'} in {so}{where}"]
    parts += filter(None, [_overturning(claim)])
    if claim["worst"] is not None:
        parts.append(f"the seed that speaks most against it has {shown(claim['worst'])}")
    return "; ".join(parts)


def _overturning(claim: Mapping) -> str:
    """What would overturn a verdict, or decide what is undecided; "" if that is not known."""
    if claim["verdict"] == "undecided":
        return "" if claim["needed"] is None else f"{words.needed(claim['needed'])} would decide it"
    if claim["tipping"] is None:
        return ""
    missed = ", and so many could hardly have been missed" if claim["mark"] else ""
    return f"to overturn it, {words.tipping(claim['tipping'])}{missed}"


def evidence(claim: dict) -> list[Markup]:
    """Clauses: what was measured, "SLAM minus ListNet: -0.127 [-0.132, -0.122] of NDCG@10 on
    Digits", in how many seeds it is so, which of several cells decides, and what is undecided.
    """
    if claim["verdict"] == words.SILENT:
        return []
    agreed, contrary, rest = _sides(claim)
    mean = _overall(claim)
    if contrary:
        texts = _numbers_of_sides(claim, agreed, contrary)
    else:
        texts = [_numbers(claim, mean or agreed, brief=bool(mean)) + _where(claim)]
    if counted := _counted_by_seeds([*agreed, *contrary]):
        how = "as claimed" if claim["verdict"] == "undecided" else "so"
        texts.append(Markup("{} {}").format(how, _seeds(counted)))
        if claim["verdict"] in ("holds", "fails") and len(mean or agreed) > 1 and not contrary:
            decisive = measured([claim], claim["measures"], claim["deciding"])
            texts.append(Markup("the cell that decides, {}").format(decisive))
    if rest:
        decided_on = {cell["stream"] for cell in agreed}
        where = _places([cell for cell in rest if cell["stream"] not in decided_on])
        in_cells = f" in {len(rest)} of {len(claim['cells'])} cells"
        texts.append(Markup("undecided{}").format(where or in_cells))
    if claim["verdict"] == "undecided" and (claim["cells_holding"] or claim["cells_failing"]):
        texts.append(Markup("cell by cell it {}").format(words.cells(claim)))
    if claim["verdict"] == words.ALIKE:
        texts.append(Markup("so of {}, too, of which it should be false").format(claim["control"]))
    return texts


def _overall(claim: dict) -> list[dict]:
    """The cell of the mean over all other cells, alone in a list, if it decides the claim."""
    if claim["deciding"] != OVERALL:
        return []
    estimated = (cell for cell in claim["cells"] if cell["estimate"] is not None)
    return [cell for cell in estimated if cell["stream"] == OVERALL]


def _sides(claim: dict) -> tuple[list[dict], list[dict], list[dict]]:
    """The cells that came out as the claim did, the other way, and undecided; all are in the first,
    if the claim is undecided or the mean over cells decides.
    """
    estimated = (cell for cell in claim["cells"] if cell["estimate"] is not None)
    cells = [cell for cell in estimated if cell["stream"] != OVERALL]
    came_out = "fails" if claim["verdict"] == "fails" else "holds"
    agreed = [cell for cell in cells if cell["verdict"] == came_out]
    if claim["verdict"] == "undecided" or _overall(claim) or not agreed:
        return cells, [], []
    others = [cell for cell in cells if cell["verdict"] != came_out]
    contrary = [cell for cell in others if cell["verdict"] in words.DECIDED]
    return agreed, contrary, [cell for cell in others if cell not in contrary]


def _places(cells: list[dict]) -> Markup:
    """On which streams: " on Digits, Letters and Yahoo"."""
    names = dict.fromkeys(cell["stream"] for cell in cells)
    if len(names) > PLACES:
        return Markup(" on {} streams").format(len(names))
    *first, last = [Markup("<i>{}</i>").format(name) for name in names] or [Markup("")]
    listed = Markup(" and ").join([Markup(", ").join(first), last] if first else [last])
    return Markup(" on {}").format(listed) if names else listed


def _told_apart(*sides: list[dict]) -> list[str]:
    """For each side, words that tell its cells from the other's: " on Digits", or, on the same
    streams, " for SLAM".
    """

    def common(key: str) -> set:
        return set.intersection(*({cell[key] for cell in cells} for cells in sides))

    if not common("stream"):
        return [_places(cells) for cells in sides]
    form = "{learner} on {stream}" if common("learner") else "{learner}"
    texts = []
    for cells in sides:
        names = dict.fromkeys(form.format(**cell) for cell in cells)
        few = len(names) <= PLACES
        texts.append(f" for {' and '.join(names)}" if few else f" in {len(names)} cells")
    return texts


def _numbers(claim: dict, cells: list[dict], brief: bool = False) -> Markup:
    """What was measured in cells, or, without cells, the claim's own estimate, in words.

    brief : whether to leave out what is compared
    """
    if not cells and claim["estimate"] is None:
        return Markup("")
    pair = "" if brief else _pair(cells) or claim["compared"]
    return Markup("{}").format(measured(cells or [claim], claim["measures"], pair))


def _pair(cells: list[dict]) -> str:
    """What cells compare: "SLAM minus ListNet"; "each minus ListNet" of several learners; "" if
    nothing in common.
    """
    against, learners = {cell["against"] for cell in cells}, {cell["learner"] for cell in cells}
    if len(against) != 1 or not (other := against.pop()):
        return ""
    return f"{learners.pop() if len(learners) == 1 else 'each'} minus {other}"


def resting(claims: Iterable[Mapping]) -> str:
    """How many verdicts suppose that no rare seed is far from those drawn, and how many of these
    stand without it; "" if none does.
    """
    decided = [claim for claim in claims if claim["verdict"] in (*words.DECIDED, words.ALIKE)]
    premised = [claim for claim in decided if claim["premise"]]
    if not premised:
        return ""
    marked = sum(claim["mark"] != "" for claim in premised)
    verb = "supposes" if len(premised) == 1 else "suppose"
    supposing = f"{len(premised)} of {len(decided)} verdicts {verb} that no rare seed is far from "
    return f"{supposing}those drawn; {marked} of these are so {words.MARK}"


def _counted(claims: list[dict]) -> Markup:
    """How many claims have each verdict, what the failing ones are, and how tight bounds are."""
    tested = words.by_test(claims).items()
    texts = [Markup("{}").format(f"Of {len(of)} {how} {words.outcomes(of)}") for how, of in tested]
    if failing := [claim for claim in claims if claim["verdict"] == "fails"]:
        by_name = {claim["named"] or claim["place"]: claim for claim in failing}  # each once
        link = Markup('<a href="#{anchor}" title="{statement}">{name}</a>')
        links = [link.format(**claim | {"name": name}) for name, claim in by_name.items()]
        texts.append(Markup("What fails: ") + Markup("; ").join(links))
    if tight := tightness(claims):
        texts.append(_capital(tight))
    return Markup(". ").join(texts) + "."


def tightness(claims: Iterable[Mapping]) -> str:
    """How tight the bounds of those theorem checks that hold are; "" if none is about a bound."""
    holding = [one for one in claims if (one["row"], one["verdict"]) == ("theorem", "holds")]
    shares = [claim["tightness"] for claim in holding if claim["tightness"] is not None]
    if not shares:
        return ""
    return f"what was measured is {spread(shares, percent)} of the bounds that hold"


def strip(claims: list[dict]) -> dict | None:
    """Where to draw the shares of their bounds that claims used, on a scale of powers of ten; None
    if none has one.

    Returns
    -------
    strip : `dots`, each with `x` and `y`, from 0 to 100 and counted from the bottom, and its
        `claim`; `ticks`, each with `x` and `text`; `bound`, the x of the whole bound; and `height`,
        the most dots above each other
    """
    shares = [claim for claim in claims if claim["tightness"] and claim["verdict"] in words.DECIDED]
    if not shares:
        return None
    powers = [math.log10(claim["tightness"]) for claim in shares]
    lowest, highest = math.floor(min(*powers, -1)), math.ceil(max(*powers, 1))

    def place(power: float) -> float:
        return round(100 * (power - lowest) / (highest - lowest), 1)

    dots, stacked = [], Counter()
    for power, claim in sorted(zip(powers, shares, strict=True), key=lambda pair: pair[0]):
        # what holds is left of it
        x = round(place(0) + (math.ceil((place(power) - place(0)) / WIDTH) - 0.5) * WIDTH, 1)
        dots.append({"x": x, "y": stacked[x], "claim": claim})
        stacked[x] += 1
    ticks = [{"x": place(power), "text": _tick(power)} for power in range(lowest, highest + 1)]
    return {"dots": dots, "ticks": ticks, "bound": place(0), "height": max(stacked.values())}


def _tick(power: int) -> str:
    if power < 1:
        return f"{shown(10.0 ** (power + 2))} %"
    return f"{shown(10.0**power)}\N{MULTIPLICATION SIGN}"


def _best(board: dict) -> Markup:
    """Who is best on each stream of an experiment, and who cannot be told from the best."""
    parts = []
    for place, stream in enumerate(board["streams"][:PLACES]):
        cells = (row["cells"][place] or {} for row in board["rows"])
        best = next(cell for cell in cells if cell.get("best"))
        mean = f"{best['mean']} {best['interval']}".strip()
        form = Markup("{} is best on <i>{}</i> ({} of {})")
        part = form.format(board["best"][place], stream, mean, board["measure"])
        if alike := _alike(board, place):
            part += Markup(", and {} cannot be told from it").format(_listed(alike))
        parts.append(part)
    return Markup("; ").join(parts) + "."


def _alike(board: dict, place: int) -> list[str]:
    """The learners that are not told apart from the best on a board's stream, by its index."""
    cells = ((row["learner"], row["cells"][place] or {}) for row in board["rows"])
    alike = [learner for learner, cell in cells if cell.get("told_apart") is False]
    return [learner for learner in alike if learner != board["best"][place]]


def _listed(names: list[str]) -> str:
    """The names, "a and b"; of many: "5 others"."""
    return " and ".join(names) if len(names) < PLACES else f"{len(names)} others"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
