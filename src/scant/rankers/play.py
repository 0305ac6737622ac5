"""How a learner plays a stream: in its compiled loop if it has one, else in a Python loop."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from scant.data.stream import CUT, LARGEST_GRADE, Stream, discounts, gains
from scant.declare.own import in_round
from scant.errors import SettingError
from scant.measures import PLACE, codes_of, function_of, is_own, named, rank
from scant.rankers.learners import MEASURES, Contextual, Ideal, NonFiniteScores, Settings

NO_ROUNDS = np.array([], np.int64)


@dataclass(frozen=True)
class Play:
    """What happened in each round.

    All arrays except `weights` have one entry or row for each round played.
    """

    # float64, rounds x measures: of the ranking shown, in the order of `recorded`
    measured: np.ndarray
    # float64, of the learner's own measure; 0 for queries without a relevant document
    loss: np.ndarray
    updated: np.ndarray  # uint8
    ranker: np.ndarray  # float64, NDCG@10 of the learner's own ranking, shown or not

    # float64, the judging surrogate's loss of the scores shown; NaN if none judges the learner
    surrogate: np.ndarray
    # int32, rounds x 4: whether it explored, whether other documents were on top because of that,
    # how many exponents were clipped, whether the query had too few documents to learn from
    events: np.ndarray
    # float64, rounds x 2, sums up to each round: of squared norms of the gradients (or their
    # estimates) in the weights, and of the probabilities of exploring. Of no rows unless steps need
    # no rate, or exploration adapts, in a compiled loop
    watched: np.ndarray
    weights: np.ndarray | None  # float64 (features), after the last round

    # float64, rounds x features: the weights after the rounds that were asked for, but the last;
    # NaN where the loop does not keep them, None of plain Python
    weights_kept: np.ndarray | None = None
    # the round in which a score was not finite, which ends the play; 0 if there is none
    failed_in: int = 0


def recorded(measures: Iterable[str] = (), largest_grade: int = 0) -> tuple[str, ...]:
    """The names of the measures that a play records: the measures that learners may learn, then
    others in `measures`.

    largest_grade : of the stream

    Raises
    ------
    SettingError : a name is unknown, or a measure is not defined for grades as large as the
        stream's
    """
    names = tuple(dict.fromkeys((*MEASURES, *measures)))
    for name in names:
        if (most := named(name)[0].largest_grade) < largest_grade:
            raise SettingError(
                f"the measure {name!r} is of grades up to {most}; the stream's go "
                f"up to {largest_grade}"
            )
    return names


def _ideals(stream: Stream, measures: np.ndarray) -> np.ndarray:
    """What each measure divides each query's DCG by, its largest DCG: float64, queries x measures;
    1 for measures other than NDCG.

    measures : (code, cut-off) of each, see `codes_of`
    """
    from scant.kernels import pieces

    stored = {0: stream.ideal_dcg, CUT: stream.ideal_dcg_at_cut}
    gains_of = {
        pieces.NDCG: gains(LARGEST_GRADE),
        pieces.LINEAR_NDCG: np.arange(LARGEST_GRADE + 1.0),
    }
    places = discounts(stream.metadata["largest_query"])
    ideals = np.ones((len(stream), len(measures)))
    for j, (code, cut) in enumerate(measures):
        if code == pieces.NDCG and cut in stored:
            ideals[:, j] = stored[cut]
        elif code in gains_of:  # a cut-off of 0 stands for the whole list
            pieces.ideal_dcgs(
                stream.offsets,
                stream.grades,
                cut or len(places),
                gains_of[code],
                places,
                ideals[:, j],
            )
    return ideals


def playable(stream: Stream, empty: str) -> np.ndarray:
    """The queries that may be played, as their indices in the stream; see `query_order`."""
    return np.flatnonzero(stream.relevant > 0) if empty == "skip" else np.arange(len(stream))


def query_order(
    stream: Stream,
    random: np.random.Generator,
    rounds: int | None = None,
    order: str = "shuffled",
    empty: str = "zero",
    keep: float = 1.0,
    resampled: np.random.Generator | None = None,
    apart: np.ndarray = NO_ROUNDS,
) -> np.ndarray:
    """The query of each round, as its index in the stream: pass after pass over the stream, each
    shuffled anew.

    rounds : the horizon; None for one pass
    order : "shuffled", or "as-is" for the order of the files
    empty : "skip" leaves out queries without a relevant document
    keep : the probability with which each query of a pass is kept (released code: 0.8 on some data
        sets)
    resampled : draws the queries of every pass: as many as there are, with replacement (the
        bootstrap of queries). Under "as-is" they are in the order of the files, all second copies
        after all first ones, and so on. None for each query once
    apart : queries that are kept out

    Returns
    -------
    queries : integers of shape (rounds,); empty if no query is left
    """
    queries = np.setdiff1d(playable(stream, empty), apart)
    if resampled is not None and len(queries):
        # In the order of the files, which shuffled passes undo.
        queries = np.sort(resampled.choice(queries, len(queries)))
        # second copies after all first ones: a learner knows the query that it met a round before
        if order == "as-is":
            copies = np.arange(len(queries)) - np.searchsorted(queries, queries)
            queries = queries[np.argsort(copies, kind="stable")]
    passes, total = [], 0
    while rounds is None or total < rounds:
        order_of_pass = random.permutation(queries) if order == "shuffled" else queries
        if keep < 1:
            order_of_pass = order_of_pass[random.random(len(order_of_pass)) < keep]
        passes.append(order_of_pass)
        total += len(order_of_pass)
        # one pass; or none, where no number of passes would do
        if rounds is None or not len(queries):
            break
    return np.concatenate(passes)[:rounds]


def play(
    stream: Stream,
    queries: np.ndarray,
    learner: Contextual,
    empty: str = "zero",
    measures: Iterable[str] = (),
    kept: np.ndarray = NO_ROUNDS,
) -> Play:
    """Let a learner play a stream: in its compiled loop if it has one, else in plain Python.

    queries : the query of each round, see `query_order`
    learner : made anew; its weights are moved
    empty : the measures of a query without a relevant document: "zero", "one", or "skip" if there
        is none
    measures : to record besides the measures of all plays
    kept : int64, ascending from 1, the rounds after which a compiled loop keeps its weights
    """
    records = _records(len(queries), len(queries) if learner.watches else 0)
    loop = learner.loop(stream, records)
    if loop is None:
        return play_plain((stream[q] for q in queries), len(queries), learner, empty, measures)
    from scant.kernels.pieces import Measured, Rounds

    compiled, arguments = loop
    names = recorded(measures, max(1, stream.metadata["largest_grade"]))
    built_in = [name for name in names if not is_own(name)]
    places = range(1, stream.metadata["largest_query"] + 1) if len(built_in) < len(names) else ()
    codes = np.array([*codes_of(built_in), *((PLACE, place) for place in places)], np.int64)
    measured, value = np.zeros((len(queries), len(codes))), 1.0 if empty == "one" else 0.0
    weights = np.full((len(kept), stream.metadata["features"]), np.nan)
    rounds = compiled(
        rounds=Rounds(
            learner.inputs(stream.features), stream.offsets, stream.grades, stream.relevant, queries
        ),
        tables=tables_of(stream),
        recorded=Measured(codes, _ideals(stream, codes), value, measured, kept, weights),
        random=learner.random,
        weights=learner.weights,
        updated=records["updated"],
        **arguments,
    )
    if not learner.pairwise:
        own_measure = list(MEASURES).index(learner.setup.measure)
        # Without a relevant document no ranking loses less than another.
        records["loss"] = np.where(stream.relevant[queries] > 0, 1 - measured[:, own_measure], 0.0)
    if "ranker" not in arguments:  # it shows its own ranking
        records["ranker"] = measured[:, 0]
    failed_in = 0 if rounds == len(queries) else rounds + 1
    if places:
        measured = _with_own(names, built_in, measured[:rounds])
    played = _played(rounds, records | {"measured": measured}, learner, failed_in)
    played = replace(played, weights_kept=weights)
    if learner.recalls:
        return _recalling(stream, queries, learner, played, empty, measures)
    return played


def _recalling(
    stream: Stream, queries: np.ndarray, learner, played: Play, empty: str, measures: Iterable[str]
) -> Play:
    """Change `played`, in place, as if the learner remembered every grade, and return it: a query
    that returns is ranked by its grades.
    """
    queries = queries[: len(played.loss)]
    again = np.ones(len(queries), bool)
    again[np.unique(queries, return_index=True)[1]] = False
    settings = Settings(Ideal.kind, trigger="ndcg@10")
    ideal = Ideal(stream.metadata, None, settings, learner.random)  # of which it draws nothing
    by_grades = play(stream, queries[again], ideal, empty, measures)
    for name in ("measured", "ranker", "loss"):
        getattr(played, name)[again] = getattr(by_grades, name)
    return played


def _with_own(names: Iterable[str], built_in: list[str], measured: np.ndarray) -> np.ndarray:
    """The values of the measures `names`, some of them a user's own: float64, rounds x measures.

    measured : rounds x columns: the measures `built_in`, then the grade at each place, -1 beyond
        the last
    """
    columns = dict(zip(built_in, measured.T, strict=False))
    for name in names:
        if name not in columns:
            function, columns[name] = function_of(name), np.zeros(len(measured))
            for t, shown in enumerate(measured[:, len(built_in) :]):
                grades = shown[shown >= 0]
                with in_round(t + 1):
                    columns[name][t] = function(np.arange(len(grades)), grades)
    return np.column_stack([columns[name] for name in names])


def tables_of(stream: Stream):
    """The `scant.kernels.pieces.Tables` for a stream's grades and its longest query."""
    from scant.kernels.pieces import Tables

    grade = max(1, stream.metadata["largest_grade"])
    return Tables(
        gains(grade), discounts(stream.metadata["largest_query"]), np.exp(-np.arange(grade + 1.0))
    )


def play_plain(
    rounds: Iterable,
    count: int,
    learner: Contextual,
    empty: str = "zero",
    measures: Iterable[str] = (),
) -> Play:
    """Let a learner play in plain Python.

    rounds : `(features, answer)` of each round. `answer` is the grades (m), or, for an adversary, a
        function that returns them for the ranking shown
    count : how many rounds there are
    """
    functions, value = (
        [function_of(name) for name in recorded(measures)],
        1.0 if empty == "one" else 0.0,
    )
    records = _records(count) | {"measured": np.zeros((count, len(functions)))}
    own_measure, played, failed_in = list(MEASURES).index(learner.setup.measure), 0, 0
    remembered = {}  # grades, by the features of their query
    for features, answer in rounds:
        try:
            if learner.sees_grades:
                # the ideal ranking needs the grades first: an adversary answers as if documents
                # were in order
                grades = answer(np.arange(len(features))) if callable(answer) else answer
                ranking = learner.rank(features, grades)
            else:
                ranking = learner.rank(features)
                grades = answer(ranking) if callable(answer) else answer
            known = remembered.get(features.tobytes()) if learner.recalls else None
            shown = ranking if known is None else rank(known)
            with in_round(played + 1):
                measured = [measure(shown, grades, value) for measure in functions]
            updated = learner.learn(features, _seen_grades(grades, ranking, learner.k), ranking)
            if learner.recalls:
                remembered[features.tobytes()] = grades
        except NonFiniteScores:
            failed_in = played + 1
            break
        mistakes = updated  # a pairwise learner updates where it ranked a pair the wrong way
        lost = 1 - measured[own_measure] if np.any(grades > 0) else 0.0
        shows_own = known is not None or learner.own_ranking is None
        own_ranking = shown if shows_own else learner.own_ranking
        of_round = {
            "measured": measured,
            "loss": mistakes if learner.pairwise else lost,
            "updated": updated,
            "ranker": MEASURES["ndcg@10"](own_ranking, grades, value),
            "surrogate": learner.suffered(grades),
            "events": learner.events(ranking),
        }
        for name, entry in of_round.items():
            records[name][played] = entry
        played += 1
        if learner.overflowed:
            failed_in = played
            break
    return _played(played, records, learner, failed_in)


def _seen_grades(grades: np.ndarray, ranking: np.ndarray, k: int | None) -> np.ndarray:
    """The grades of the first k documents of a ranking, -1 for the others; all grades if k is
    None.
    """
    if k is None:
        return grades
    seen = np.full(len(grades), -1, np.int64)
    seen[ranking[:k]] = grades[ranking[:k]]
    return seen


def _records(rounds: int, watched: int = 0) -> dict[str, np.ndarray]:
    """The arrays of a `Play` that loops write to, by name. The last one is for `watched` rounds."""
    return {
        "loss": np.zeros(rounds),
        "updated": np.zeros(rounds, np.uint8),
        "ranker": np.zeros(rounds),
        "surrogate": np.full(rounds, np.nan),
        "events": np.zeros((rounds, 4), np.int32),
        "watched": np.zeros((watched, 2)),
    }


def _played(
    rounds: int, records: dict[str, np.ndarray], learner: Contextual, failed_in: int
) -> Play:
    """The play of the first `rounds` rounds of `records`; the others were not played."""
    of_rounds = {name: array[:rounds] for name, array in records.items()}
    return Play(weights=learner.weights, failed_in=failed_in, **of_rounds)
