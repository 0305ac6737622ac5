"""Compare policies with today's on a practitioner's own logs: which would have earned more clicks?

Policies are learnt from a training log and evaluated on a test log of other visits. Today's policy is the one that
logged the training log; its CTR is estimated from the rewards there. Which bound is reported depends on how the test
log was logged, never on the results: Clopper-Pearson's, which is then exact, if rewards are 0 or 1 and only one weight
above 0 is possible; else the betting bound, which holds for all weights and rewards.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from scant import files
from scant.ads import campaigns, evaluation, policies, run, scorers
from scant.ads.learners import KINDS, LAMBDAS, Logging, Uniform
from scant.data import logs
from scant.data.logs import Log
from scant.errors import DataError, SettingError, unknown
from scant.randomness import generator

ALWAYS = (Logging.kind, Uniform.kind)  # policies that are in every table
LEARNT = tuple(kind for kind, learner in KINDS.items() if learner.learns)
HOPELESS = 1000  # if it takes so many times the rows, no number is given
HEADINGS = ("policy", "CTR", "SNIPS", "at least", "from", "to", "clicks", "rows", "weight", "possible")
WARNINGS = {  # texts that differ from those of `scant.ads.evaluation`, since bounds here are exact
    "few-clicks": "few clicks: the bounds hold, but are wide",
    "no-clicks": "no click on an ad that it shows: only the upper end says something",
}


def learn(
    kind: str, log: Log, settings: scorers.Settings | None = None, lambdas=LAMBDAS,
    validation: float = 0.2, threshold: str = "f1", select: float = 1.0, seed: int = 0,
) -> run.Fit:  # fmt: skip
    """Learn a policy: choose lambda on a validation part of the log, then fit a model to the whole log.

    Parameters
    ----------
    kind : one of `LEARNT`
    log : the training log
    settings, lambdas, validation, threshold, select : see `run.fits`
    seed : the seed of the fit

    Raises
    ------
    SettingError, DataError : invalid settings, or a log that cannot be learnt from
    """
    settings, random = settings or scorers.Settings(), generator(seed, "advice")
    return run.fits(kind, log, random, settings, lambdas, "held-out", validation, threshold, select)[-1]


# --- users' own policies


def own_policies(path) -> tuple[str, ...]:
    """The names of the policies in a log: those of its columns `policy:NAME`, which hold probabilities."""
    return tuple(name.removeprefix(logs.POLICY) for name in _columns(path) if name.startswith(logs.POLICY))


def own_policy(path, name: str) -> np.ndarray:
    """The probability that a policy shows the logged ad, float64 (rows), from the column `policy:NAME` of a log.

    Raises
    ------
    DataError : there is no such column; a value that is missing, not a number, or outside [0, 1]
    """
    column = logs.POLICY + name
    if column not in _columns(path):
        raise DataError(path, f"there is no column {column!r}", advice="It holds the policy's probability of `action`")
    if _is_parquet(path):
        with files.foreign(path):
            frame, lines = files.read_parquet(path).select([column]).to_pandas(), None
    else:
        frame = logs.read_csv(path)
        lines = np.arange(len(frame)) + 2  # the first row stands on line 2
    values = logs.numbers(path, frame, column, lines)
    bad = (values < 0) | (values > 1)
    if bad.any():
        row = int(np.argmax(bad))
        logs.refuse_row(path, row, f"{column} {values[row]} is not in [0, 1]", lines, "It is a probability")
    return values


def _columns(path) -> list[str]:
    """The column names of a log."""
    if _is_parquet(path):
        import pyarrow.parquet as pq

        with files.foreign(path):
            return pq.read_schema(path).names
    return logs.header(path)


def _is_parquet(path) -> bool:
    """Whether a file is parquet, by its first bytes."""
    with open(path, "rb") as file:
        return file.read(len(logs.MAGIC)) == logs.MAGIC


# --- advice


@dataclass(frozen=True)
class Advice:
    """The comparison of policies with today's.

    level : the confidence of each bound, interval and verdict
    about : sentences that describe the logs
    rows : one mapping for each policy, today's first; see `advise`
    notes : sentences to read before the numbers are used
    """

    level: float
    about: tuple[str, ...]
    rows: tuple[dict, ...]
    notes: tuple[str, ...]

    def text(self) -> str:
        """The table, the verdicts and the notes as text for a reader."""
        share = f"{100 * self.level:.3g} %"
        lines = [
            *self.about,
            "",
            f"Click rates (CTR) in %; `at least` and the interval with {share} confidence",
            "Clicks and rows: effective, that is, as many as of equal weight would tell as much",
        ]
        cells = [HEADINGS] + [
            (row["policy"], *(_percent(row[key]) for key in ("estimate", "snips", "lower", "low", "high")),
             f"{row['effective_clicks']:,.0f}", f"{row['effective']:,.0f}",
             f"{row['largest_weight']:.3g}", f"{row['declared_weight']:.3g}")
            for row in self.rows
        ]  # fmt: skip
        lines += _aligned(cells)
        judged = self.rows[1:]
        lines += ["", f"Better than today's policy ({self.rows[0]['policy']})? Each answer with {share} confidence"]
        width = max(len(row["policy"]) for row in self.rows)
        lines += [f"  {row['policy']:<{width}}  {row['verdict']}{_because(row)}" for row in judged]
        if len(judged) > 1:
            joint = 100 * (1 - (1 - self.level) / len(judged))
            lines += [f"To rely on all {len(judged)} at once, or to choose the best by them: --level {joint / 100:.4g}"]
        if self.notes:
            lines += ["", "Before you use this:", *(f"  - {note}" for note in self.notes)]
        return "\n".join(lines) + "\n"

    def write(self, path) -> None:
        """Write everything as JSON if the name ends in .json; else write the rows as CSV."""
        if Path(path).suffix.lower() == ".json":
            import json

            rows = [{key: None if value != value else value for key, value in row.items()} for row in self.rows]
            content = {"level": self.level, "about": self.about, "notes": self.notes, "policies": rows}
            files.write_text(path, json.dumps(content, indent=1) + "\n")
        else:
            import pandas as pd

            files.write_text(path, pd.DataFrame(self.rows).to_csv(index=False, lineterminator="\n"))


def advise(
    test, train=None, names: Iterable[str] = ("auc-ranker",), level: float = 0.95, declared: float | None = None,
    epsilon: float = 0.0, **learning,
) -> Advice:  # fmt: skip
    """Compare policies with today's.

    Parameters
    ----------
    test, train : paths of logs, see `logs.read_own`. Without `train` today's policy is the one that logged `test`
    names : the policies: kinds of learners (`LEARNT`), which are learnt from `train`; or NAME, or column:NAME, for the
        probabilities in the column `policy:NAME` of `test`. "logging" (today's) and "uniform" are always compared
    level : the confidence of each lower bound, two-sided interval and verdict
    declared : the least propensity that the logging policy of `test` can give; needed if its propensities differ
    epsilon : the share of visits in which learnt policies show another ad than the best
    learning : further settings of `learn`

    Returns
    -------
    advice : its rows have policy; lambda and epsilon (NaN for a policy without); level and bound; estimate (the
        importance-weighted CTR), snips, lower (one-sided), low and high (two-sided); the fields of
        `evaluation.Diagnostics`; untrained (ids of ads, separated by blanks); verdict ("yes", "no", "cannot tell",
        "none" if the log tells nothing usable, or empty for today's policy); needed_test and needed_train (how many
        rows of each log would make the verdict clear if the estimates stayed the same; NaN if it is clear, or if that
        log need not grow); refused and warnings (kinds of `evaluation.Notice`)

    Raises
    ------
    DataError : a log that cannot be used; logs that are the same, or have different features; an ad in `test` that
        `train` never showed
    SettingError : an unknown policy, one to be learnt although there is no `train`, or no least propensity where it is
        needed
    """
    tested, trained = _read(test), _read(train) if train is not None else None
    names = list(dict.fromkeys(name for name in names if name not in ALWAYS))
    columns = {name: _column_name(name, test) for name in names}
    if trained is None and (learnt := [name for name in names if columns[name] is None]):
        raise SettingError(f"{learnt[0]} is learnt from a log: give one with --train, of other visits than the test's")
    notes = _duplicates(test, tested)
    if trained is not None:
        tested = logs.align(tested, trained.actions, trained.names, test)
        notes += _duplicates(train, trained) + _shared(test, tested, train, trained)
    least, constant = _least(test, tested, declared)
    binary = bool(np.all((tested.reward == 0) | (tested.reward == 1)))
    today = run.own_policy(tested if trained is None else trained, level, None)
    rows, actions = [_row(Logging.kind, today, level)], len(tested.actions)
    notes += _noticed(Logging.kind, today)

    def judge(name, target, largest, weights, **learnt_columns):
        weights = weights if binary and constant and weights is not None and len(weights) == 1 else None
        evaluated = evaluation.evaluate(tested.reward, tested.propensity, target, largest, level, weights=weights)
        row = _row(name, evaluated, level, **learnt_columns)
        rows.append(row | _verdict(row, rows[0], trained is None))
        notes.extend(_noticed(name, evaluated))

    shares = policies.uniform(len(tested), actions).probability(tested.action)
    judge(Uniform.kind, shares, 1 / actions / least, (1 / actions / least,))
    weights = evaluation.declared_weights((least,), epsilon, actions)
    for name in _with_progress(names):
        if columns[name] is not None:
            judge(name, own_policy(test, columns[name]), 1 / least, None)
            continue
        policy = learn(name, trained, **learning)
        target = policy.choice(tested.features, epsilon).probability(tested.action)
        untrained = policy.model.untrained
        learnt_columns = {"lambda": policy.regularisation, "epsilon": epsilon, "untrained": " ".join(untrained)}
        judge(name, target, weights[-1], weights, **learnt_columns)
        if untrained:
            reason = "had no click, or nothing but clicks, in training: never shown, but if all ads are such"
            notes.append(f"{name}: ads {', '.join(untrained)} {reason}")
    return Advice(level, _about(test, tested, train, trained), tuple(rows), tuple(notes))


def _read(path) -> Log:
    log = logs.read_own(path)
    if len(log) < 2:
        raise DataError(path, "the log has one row, of which nothing can be said")
    return log


def _column_name(name: str, test) -> str | None:
    """The NAME of the column `policy:NAME` that a policy stands for; None for a kind of learner."""
    if name in LEARNT:
        return None
    known = own_policies(test)
    column = name.removeprefix("column:")
    if column not in known:
        raise unknown("policy", column, (*LEARNT, *(f"column:{name}" for name in known)))
    return column


def _least(path, log: Log, declared: float | None) -> tuple[float, bool]:
    """The least propensity possible, and whether it is the only one."""
    constant = evaluation.least_propensity(log.propensity) is not None
    least = evaluation.least_propensity(log.propensity, declared)
    if least is None:
        raise SettingError(
            f"{path}: propensities differ, so that --least-propensity is needed: the least probability with which the "
            "policy that logged it shows any ad to anyone, by its design. The least in the log will not do: an ad's "
            "rarest showings are those that a log is likely to lack, and bounds made without them are too good"
        )
    if not 0 < least <= 1:
        raise SettingError(f"--least-propensity is {least}; a propensity is above 0 and at most 1")
    if log.propensity.min() < least * (1 - 1e-9):
        row = int(np.argmin(log.propensity))
        raise SettingError(f"--least-propensity is {least}, but row {row + 1} of {path} has {log.propensity[row]:g}")
    return least, constant and math.isclose(least, log.propensity[0])


def _row(name: str, evaluated: evaluation.Evaluation, level: float, **learnt) -> dict:
    """The row of a policy without its verdict.

    learnt : lambda, epsilon and untrained, of a policy that was learnt
    """
    bounds = {(bound.estimator, bound.bound): bound for bound in evaluated.bounds}
    bound = bounds.get(("ips", "clopper-pearson")) or bounds["ips", "betting"]
    blank = {"lambda": np.nan, "epsilon": np.nan, "untrained": ""} | learnt
    return {
        "policy": name, "lambda": blank["lambda"], "epsilon": blank["epsilon"], "level": level, "bound": bound.bound,
        "estimate": bound.estimate, "snips": bounds["snips", "delta"].estimate,
        "lower": bound.lower, "low": bound.low, "high": bound.high,
        **vars(evaluated.diagnostics), "untrained": blank["untrained"],
        "verdict": "", "needed_test": np.nan, "needed_train": np.nan,
        "refused": evaluated.refused.kind if evaluated.refused else "",
        "warnings": " ".join(notice.kind for notice in evaluated.warnings),
    }  # fmt: skip


def _verdict(row: Mapping, today: Mapping, same_log: bool) -> dict:
    """Whether a policy is better than today's: clear if their intervals do not overlap; else how many rows it takes.

    A wrong verdict needs one of two ends to be wrong, each of which has a probability of (1 - level) / 2. The
    numbers of rows assume that half-widths fall as one over the root of the rows, and that estimates do not change.
    """
    if row["refused"] or today["refused"] or "mean-weight" in row["warnings"]:
        return {"verdict": "none"}
    if row["low"] > today["high"]:
        return {"verdict": "yes"}
    if row["high"] < today["low"]:
        return {"verdict": "no"}
    gap = row["estimate"] - today["estimate"]
    near, far = ("low", "high") if gap > 0 else ("high", "low")
    half_width, half_width_today = abs(row["estimate"] - row[near]), abs(today["estimate"] - today[far])
    gap = abs(gap)
    if gap > 2 * half_width_today and not same_log:  # today's CTR is known well enough
        return {"verdict": "cannot tell", "needed_test": row["rows"] * (half_width / (gap - half_width_today)) ** 2}
    factor = ((half_width + half_width_today) / gap) ** 2 if gap else math.inf
    needed = {"needed_test": factor * row["rows"]}
    return {"verdict": "cannot tell"} | needed | ({} if same_log else {"needed_train": factor * today["rows"]})


# --- text


def _noticed(name: str, evaluated: evaluation.Evaluation) -> list[str]:
    """Notes on a policy's evaluation: why it was refused, and its warnings."""
    notices = (evaluated.refused, *evaluated.warnings)
    return [f"{name}: {WARNINGS.get(notice.kind, notice.reason)}" for notice in notices if notice]


def _because(row: Mapping) -> str:
    """What follows a verdict in the text: why it is not clear, and what it would take."""
    if row["verdict"] == "none":
        return ": the log says nothing that can be used, see below"
    if row["verdict"] != "cannot tell":
        return ""
    if not row["needed_test"] < HOPELESS * row["rows"]:
        return f": the estimates are too close for {HOPELESS:,} times as many rows"
    parts = [(row["needed_test"], "test"), (row["needed_train"], "training")]
    needed = [f"{float(f'{rows:.2g}'):,.0f} {log} rows" for rows, log in parts if rows == rows]
    return f": about {' and '.join(needed)} would give it an even chance, if the estimates are right"


def _about(test, tested: Log, train, trained: Log | None) -> tuple[str, ...]:
    """Sentences that describe the logs."""

    def sentence(role, path, log, ending=""):
        return f"{role} {path}: {len(log):,} rows, {log.reward.sum():,.0f} clicks{ending}"

    if trained is None:
        return (sentence("Test log", test, tested, "; today's policy is the one that logged it"),)
    return (
        sentence("Training log", train, trained, "; today's policy is the one that logged it"),
        sentence("Test log", test, tested),
    )


def _duplicates(path, log: Log) -> list[str]:
    """A note if rows of a log are equal."""
    count = logs.duplicates(log)
    reason = "all are kept; if visits were logged twice, the bounds are too good"
    return [f"{path}: {count:,} of {len(log):,} rows equal an earlier one: {reason}"] if count else []


def _shared(test, tested: Log, train, trained: Log) -> list[str]:
    """A note if the logs have rows in common; a DataError if they are the same."""
    columns = [tested.columns(), trained.columns()]
    common = columns[0].keys() & columns[1].keys()
    if len(tested) == len(trained) and all(np.array_equal(columns[0][key], columns[1][key]) for key in common):
        reason = f"the same log as {train}, from which policies are learnt: it flatters them"
        raise DataError(test, reason, advice="Evaluate on visits that were not learnt from")
    kept = {key: None for key in ("position", "timestamp") if key not in common}
    tested, trained = replace(tested, **kept), replace(trained, **kept)
    both = {key: np.concatenate([column, trained.columns()[key]]) for key, column in tested.columns().items()}
    count = logs.duplicates(replace(tested, **both)) - logs.duplicates(tested) - logs.duplicates(trained)
    reason = "if these are the same visits, what was learnt from them is judged too well"
    return [f"{count:,} different rows of {test} are in {train}, too: {reason}"] if count else []


def _percent(value: float) -> str:
    """A share in percent; a dash for NaN."""
    return "-" if value != value else f"{100 * value:.3f}"


def _aligned(cells: list[tuple[str, ...]]) -> list[str]:
    """Lines of a text table: the first column aligned to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in cells
    ]


def _with_progress(names: list[str]) -> Iterable[str]:
    """Pass the names on; show the current one on stderr if it takes more than two seconds."""
    from tqdm import tqdm

    with tqdm(total=len(names), unit=" policies", delay=2, disable=None) as bar:
        for name in names:
            bar.set_description(name)
            yield name
            bar.update()


# --- logs


def simulate(name: str, settings: dict, policy: str, rows: int, seed: int, target) -> None:
    """Write a log of a simulated campaign, as CSV if the target's name ends in .csv, else as parquet.

    Raises
    ------
    SettingError : an unknown campaign, setting or policy; fewer than one row
    """
    log = campaigns.make(name, **settings).log(rows, generator(seed, "campaign log", name, policy), policy)
    if Path(target).suffix.lower() != ".csv":
        metadata = {"campaign": name, "settings": settings, "policy": policy, "seed": seed}
        logs.write(log, target, metadata)
        return
    import pandas as pd

    frame = pd.DataFrame(log.features, columns=list(log.names))
    frame.insert(0, "action", np.array(log.actions)[log.action])
    frame.insert(1, "reward", log.reward.astype(int))
    frame.insert(2, "propensity", log.propensity)
    files.write_text(target, frame.to_csv(index=False, lineterminator="\n"))


def check(path) -> dict:
    """Check a log, and return facts about it, fit for JSON.

    Returns
    -------
    facts : those of `logs.facts`; features, their names; constant, the features with a single value; policies, the
        names of the user's own policies in it; timestamps, the first and the last, ISO 8601 in UTC, or None
    """
    log = logs.read_own(path)
    constant = (log.features == log.features[0]).all(axis=0)
    times = None if log.timestamp is None else [f"{end}Z" for end in (log.timestamp.min(), log.timestamp.max())]
    return logs.facts(log) | {
        "features": list(log.names),
        "constant": [name for name, is_constant in zip(log.names, constant, strict=True) if is_constant],
        "policies": list(own_policies(path)),
        "timestamps": times,
    }


def describe(facts: Mapping) -> str:
    """The facts that `check` returns as text for a reader."""
    low, high = facts["propensity"]
    lines = [
        f"{facts['rows']:,} rows, {facts['duplicates']:,} of them equal to an earlier one",
        f"propensities: {low:g} in all rows" if low == high else f"propensities: from {low:g} to {high:g}",
        f"features: {len(facts['features'])}",
    ]
    if facts["constant"]:
        lines.append(f"  of which these have one value only: {', '.join(facts['constant'])}")
    if facts["timestamps"]:
        lines.append(f"timestamps: {' to '.join(facts['timestamps'])}")
    if facts["policies"]:
        lines.append(f"policies of one's own: {', '.join(facts['policies'])}")
    cells = [("ad", "impressions", "clicks", "CTR, %")]
    for ad in facts["actions"]:
        rate = math.nan if ad["rate"] is None else ad["rate"]
        cells.append((ad["action"], f"{ad['impressions']:,}", f"{ad['clicks']:,.6g}", _percent(rate)))
    return "\n".join([*lines, "", *_aligned(cells)]) + "\n"
