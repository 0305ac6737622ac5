"""How a learner plays a stream: built-in learners in a compiled loop, all others in a Python loop."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from scant.data.stream import CUT, LARGEST_GRADE, Stream, discounts, gains
from scant.errors import ScantError, SettingError
from scant.measures import codes_of, function_of, named, rank
from scant.online.click_learners import LEARNERS as CLICKED
from scant.online.click_learners import Settings as ClickSettings
from scant.online.iterates import CHOICES as ITERATES
from scant.online.learners import LEARNERS, MEASURES, NonFiniteScores, Settings
from scant.online.steps import CHOICES, SCHEDULE
from scant.online.top import CODES
from scant.online.top import Settings as TopSettings
from scant.own import OwnError, check_scores


@dataclass(frozen=True)
class Play:
    """What happened in each round. All arrays except `weights` have one entry or row for each round played."""

    measured: np.ndarray  # float64, rounds x measures: of the ranking shown, in the order of `recorded`
    loss: np.ndarray  # float64, of the learner's own measure; 0 for queries without a relevant document
    updated: np.ndarray  # uint8
    weights: np.ndarray | None  # float64 (features), after the last round
    failed_in: int = 0  # the round in which a score was not finite, which ends the play; 0 if there is none
    # Only for learners that explore or that a surrogate judges:
    ranker: np.ndarray | None = None  # float64, NDCG@10 of the learner's own ranking, shown or not
    surrogate: np.ndarray | None = None  # float64, the judging surrogate's loss of the scores shown
    events: np.ndarray | None = None  # rounds x 4: whether it explored, whether other documents were on top because of
    # that, how many exponents were clipped, whether the query had too few documents to learn from
    # Only if steps need no rate or exploration adapts:
    watched: np.ndarray | None = None  # rounds x 2, sums up to each round: of squared norms of the gradients (or their
    # estimates) in the weights, and of the probabilities of exploring


def recorded(measures: Iterable[str] = (), largest_grade: int = 0) -> tuple[str, ...]:
    """The names of the measures that a play records: the measures that learners may learn, then others in `measures`.

    largest_grade : of the stream

    Raises
    ------
    SettingError : a name is unknown, or a measure is not defined for grades as large as the stream's
    """
    names = tuple(dict.fromkeys((*MEASURES, *measures)))
    for name in names:
        if (most := named(name)[0].largest_grade) < largest_grade:
            raise SettingError(f"the measure {name!r} is of grades up to {most}; the stream's go up to {largest_grade}")
    return names


def _ideals(stream: Stream, measures: np.ndarray) -> np.ndarray:
    """The largest DCG of each query at the cut-off of each measure: float64, queries x measures; 1 unless it is NDCG.

    measures : (code, cut-off) of each, see `codes_of`
    """
    from scant.kernels import pieces

    stored = {0: stream.ideal_dcg, CUT: stream.ideal_dcg_at_cut}
    gains_and_discounts = (gains(LARGEST_GRADE), discounts(stream.metadata["largest_query"]))
    ideals = np.ones((len(stream), len(measures)))
    for j, (code, cut) in enumerate(measures):
        if code == pieces.NDCG and cut in stored:
            ideals[:, j] = stored[cut]
        elif code == pieces.NDCG:
            pieces.ideal_dcgs(stream.offsets, stream.grades, cut, *gains_and_discounts, ideals[:, j])
    return ideals


def query_order(
    stream: Stream,
    random: np.random.Generator,
    rounds: int | None = None,
    order: str = "shuffled",
    empty: str = "zero",
    keep: float = 1.0,
    resampled: np.random.Generator | None = None,
) -> np.ndarray:
    """The query of each round, as its index in the stream: pass after pass over the stream, each shuffled anew.

    rounds : the horizon; None for one pass
    order : "shuffled", or "as-is" for the order of the files
    empty : "skip" leaves out queries without a relevant document
    keep : the probability with which each query of a pass is kept (released code: 0.8 on some data sets)
    resampled : draws the queries of every pass: as many as there are, with replacement (the bootstrap of queries).
        Under "as-is" they are in the order of the files, all second copies after all first ones, and so on. None for
        each query once

    Returns
    -------
    queries : integers of shape (rounds,); empty if no query is left
    """
    queries = np.flatnonzero(stream.relevant > 0) if empty == "skip" else np.arange(len(stream))
    if resampled is not None and len(queries):
        queries = np.sort(resampled.choice(queries, len(queries)))
        if order == "as-is":  # second copies after all first ones: a learner knows the query that it met a round before
            copies = np.arange(len(queries)) - np.searchsorted(queries, queries)
            queries = queries[np.argsort(copies, kind="stable")]
    passes, total = [], 0
    while rounds is None or total < rounds:
        shown = random.permutation(queries) if order == "shuffled" else queries
        if keep < 1:
            shown = shown[random.random(len(shown)) < keep]
        passes.append(shown)
        total += len(shown)
        if rounds is None or not len(queries):
            break
    return np.concatenate(passes)[:rounds]


def _shared(stream: Stream, queries: np.ndarray, empty: str, measures: Iterable[str]) -> tuple:
    """The arguments of all compiled loops: `Rounds`, `Tables`, `Measured`, the weights, and which rounds updated."""
    from scant.kernels.pieces import Measured, Rounds, Tables

    grade = max(1, stream.metadata["largest_grade"])
    codes = codes_of(recorded(measures, grade))
    return (
        Rounds(stream.features, stream.offsets, stream.grades, stream.relevant, queries),
        Tables(gains(grade), discounts(stream.metadata["largest_query"]), np.exp(-np.arange(grade + 1.0))),
        Measured(codes, _ideals(stream, codes), 1.0 if empty == "one" else 0.0, np.zeros((len(queries), len(codes)))),
        np.zeros(stream.features.shape[1]),
        np.zeros(len(queries), np.uint8),
    )


def _of_explorer(stream, queries, played, measured, updated, weights, ranker, surrogate, events, watched=None) -> Play:
    """The play of a learner that explores, cut to the rounds that the loop played."""
    own_loss = np.where(stream.relevant[queries] > 0, 1 - measured.values[:, 0], 0.0)
    of_rounds = (None if array is None else array[:played] for array in (ranker, surrogate, events, watched))
    failed_in = 0 if played == len(queries) else played + 1
    return Play(measured.values[:played], own_loss[:played], updated[:played], weights, failed_in, *of_rounds)


def play_compiled(
    stream: Stream,
    queries: np.ndarray,
    settings: Settings,
    rate: float,
    random,
    empty: str = "zero",
    measures: Iterable[str] = (),
) -> Play:
    """Play a built-in learner in the compiled loop.

    queries : the query of each round, see `query_order`
    random : the generator of the learner's own random numbers
    empty : the measures of a query without a relevant document: "zero", "one", or "skip" if there is none
    measures : to record besides the measures of all plays
    """
    from scant.kernels import full

    labels = settings.labels(stream.grades)
    labels.flags.writeable = False  # the loop is compiled for read-only arrays, as memory-mapped ones are
    rounds, tables, measured, weights, updated = _shared(stream, queries, empty, measures)
    loss, by_grade, names = np.zeros(len(queries)), settings.margin == "grade-gap", list(MEASURES)
    learner = full.Learner(
        kind=KINDS[settings.kind], measure=names.index(settings.measure), trigger=names.index(settings.trigger),
        rate=1.0 if rate is None else float(rate), decay=float(settings.decay), steps=CHOICES.index(settings.steps),
        by_loss=settings.by_loss, margin=1.0 if by_grade else float(settings.margin), by_grade=by_grade,
        averaged=settings.averaged, learn_on_empty=settings.learn_on_empty, cut=CUT,
        iterate=ITERATES.index(settings.iterate),
    )  # fmt: skip
    played = full.play(rounds, labels, tables, learner, measured, random, weights, loss, updated)
    failed_in = 0 if played == len(queries) else played + 1
    return Play(measured.values[:played], loss[:played], updated[:played], weights, failed_in)


def play_top(
    stream: Stream,
    queries: np.ndarray,
    settings: TopSettings,
    rate: float,
    random,
    empty: str = "zero",
    measures: Iterable[str] = (),
) -> Play:
    """Play RTop-kF or online gradient descent in the compiled loop.

    The learner updates also on queries without a relevant document, since the top k do not reveal that there is none.

    rate : the constant in front of the steps, None if they need none; all other parameters as for `play_compiled`
    """
    from scant.kernels import top

    rounds, tables, measured, weights, updated = _shared(stream, queries, empty, measures)
    ranker, loss, events = np.zeros(len(queries)), np.zeros(len(queries)), np.zeros((len(queries), 4), np.int32)
    watches = settings.adaptive or settings.steps != SCHEDULE
    watched = np.zeros((len(queries) if watches else 0, 2))
    learner = top.Learner(
        objective=CODES.index(settings.objective), judge=CODES.index(settings.judge), top=settings.k,
        gamma=settings.gamma, gamma_decay=settings.gamma_decay, adaptive=settings.adaptive,
        mismatch=float(settings.mismatch), ordered=settings.ordered, floor=float(settings.floor),
        control=settings.control and settings.objective == "squared",
        rate=1.0 if rate is None else float(rate) * settings.scale, decay=settings.decay,
        steps=CHOICES.index(settings.steps), iterate=ITERATES.index(settings.iterate), radius=float(settings.radius),
        epsilon=float(settings.epsilon),
        epsilon_decay=float(settings.epsilon_decay),
        ascend=settings.objective == "smoothdcg" and settings.sign == "as-printed",
    )  # fmt: skip
    played = top.play(
        rounds, stream.ideal_dcg, tables, learner, measured, random, weights, ranker, loss, events, updated, watched
    )
    return _of_explorer(
        stream, queries, played, measured, updated, weights, ranker, loss, events, watched if watches else None
    )


def play_clicks(
    stream: Stream,
    queries: np.ndarray,
    settings: ClickSettings,
    rate: float,
    random,
    empty: str = "zero",
    measures: Iterable[str] = (),
) -> Play:
    """Play a learner from clicks in the compiled loop. Parameters are as for `play_compiled`."""
    from scant.kernels import clicks

    rounds, tables, measured, weights, updated = _shared(stream, queries, empty, measures)
    ranker, events = np.zeros(len(queries)), np.zeros((len(queries), 4), np.int32)
    learner = clicks.Learner(
        kind=list(CLICKED).index(settings.kind), shown=settings.shown, click=np.array(settings.click),
        stop=np.array(settings.stop), delta=float(settings.delta),
        above=settings.pairs == "above", rate=float(rate),
    )  # fmt: skip
    played = clicks.play(rounds, tables, learner, measured, random, weights, ranker, events, updated)
    return _of_explorer(stream, queries, played, measured, updated, weights, ranker, None, events)


KINDS = {kind: learner.branch for kind, learner in LEARNERS.items()}  # the number of each kind in the compiled loop


def _own(settings, error: Exception, round_: int) -> Exception:
    """An error of a user's own learner, with its round; an error of this project unchanged."""
    return OwnError(error, round_) if ":" in settings.kind and not isinstance(error, ScantError) else error


def play_python(
    rounds, learner, settings, empty: str = "zero", k: int | None = None, measures: Iterable[str] = ()
) -> Play:
    """Play any learner in Python.

    rounds : an iterable of `(features, answer)` for each round. `answer` is the grades (m), or, for an adversary, a
        function that returns them for the ranking shown
    learner : has `rank(features)` and `learn(features, grades, ranking)`
    settings : of the learner; only `kind` and `measure` are used
    empty : as for `play_compiled`
    k : the learner sees the grades of its top k, and -1 for all others; None for every grade
    measures : to record besides the measures of all plays
    """
    functions = [function_of(name) for name in recorded(measures)]
    value = 1.0 if empty == "one" else 0.0
    measured, loss, updated, ranker, surrogate, events = [], [], [], [], [], []
    failed_in, own = 0, ":" in settings.kind
    for features, answer in rounds:
        try:
            if getattr(learner, "sees_grades", False):
                # the ideal ranking needs the grades first: an adversary answers as if documents were in order
                grades = answer(rank(np.zeros(len(features)))) if callable(answer) else answer
                ranking = learner.rank(features, grades)
            else:
                ranking = learner.rank(features)
                if own:
                    check_scores(learner)
                grades = answer(ranking) if callable(answer) else answer
        except NonFiniteScores:
            failed_in = len(loss) + 1
            break
        except Exception as error:
            raise _own(settings, error, len(loss) + 1) from error
        row = [measure(ranking, grades, value) for measure in functions]
        seen = grades
        if k is not None:
            seen = np.full(len(grades), -1, np.int64)
            seen[ranking[:k]] = grades[ranking[:k]]
        try:
            learned = bool(learner.learn(features, seen, ranking))
        except Exception as error:
            raise _own(settings, error, len(loss) + 1) from error
        pairwise = settings.kind in LEARNERS and LEARNERS[settings.kind].pairwise
        measured.append(row)
        own_loss = 1 - row[list(MEASURES).index(settings.measure)] if np.any(grades > 0) else 0.0
        loss.append(float(learned) if pairwise else own_loss)
        updated.append(learned)
        if hasattr(learner, "events"):
            ranker.append(MEASURES["ndcg@10"](learner.own, grades, value))
            surrogate.append(learner.suffered(grades))
            events.append(learner.events(ranking))
        # A user's own learner may sort NaN silently.
        if own and not np.all(np.isfinite(getattr(learner, "weights", 0.0))):
            failed_in = len(loss)
            break
    has_events = hasattr(learner, "events")
    return Play(
        np.array(measured, float).reshape(-1, len(functions)),
        np.array(loss, float),
        np.array(updated, np.uint8),
        getattr(learner, "weights", None),
        failed_in,
        np.array(ranker, float) if has_events else None,
        np.array(surrogate, float) if has_events else None,
        np.array(events, np.int64).reshape(-1, 4) if has_events else None,
    )
