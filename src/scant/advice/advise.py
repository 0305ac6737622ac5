"""Compare policies with today's on a practitioner's own logs: which would have earned more clicks?

Policies are learnt from a training log and evaluated on a test log of other visits. Today's policy is the one that
logged the training log; its CTR is estimated from the rewards there. Which bound is reported depends on how the test
log was logged, never on the results: Clopper-Pearson's, which is then exact, if rewards are 0 or 1 and only one weight
above 0 is possible; else the betting bound, which holds for all weights and rewards.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from dataclasses import replace as replaced
from itertools import chain, combinations, count
from numbers import Real
from pathlib import Path

import numpy as np

from scant import files
from scant.ads import evaluation, intervals, run
from scant.ads.learners import Logging, Uniform
from scant.advice import decisions, encoding, health, learning, rewards, text
from scant.advice.learning import LEARNT
from scant.advice.policy import Policy
from scant.advice.progress import silent
from scant.data import logs
from scant.data.visits import Visits
from scant.errors import DataError, SettingError, unknown
from scant.randomness import generator

ALWAYS = (Logging.kind, Uniform.kind)  # policies that are in every table
SHARED = ("refuse", "drop", "keep")  # what is done with rows of the test that are in the training log, too
COLUMN = "column:"  # before the NAME of a column policy:NAME, where it could be another policy's
UNKNOWN = "unknown"  # a least propensity that nobody knows
LEAST = 1e-100  # that a propensity can be, as numbers of a study: the squares of weights are numbers then
HOPELESS = 1000  # if it takes so many times the rows, no number is given
HEADINGS = ("policy", "CTR", "SNIPS", "at least", "from", "to", "clicks", "rows", "weight", "possible")
WARNINGS = {  # texts that differ from those of `scant.ads.evaluation`, since bounds here are exact
    "few-clicks": "few clicks: the bounds hold, but are wide",
    "no-clicks": "no click on an ad that it shows: only the upper end says something",
}


# --- evaluations


@dataclass(frozen=True)
class Evaluation:
    """The comparison of policies with today's.

    level : the confidence of each bound, interval and verdict
    about : sentences that describe the logs
    rows : one mapping for each policy, today's first; see `compare`
    notes : sentences to read before the numbers are used
    seed : of the order of the rows for the betting bounds
    policies : the learnt policies, by name
    pairs : one mapping for each pair of policies that can be compared; see `decisions.pairs`
    choice : which policy to choose; see `decisions.chosen`. None if no policy can be judged
    inputs : the files, and folders, that all of it was made from, which `write` and `report` do not overwrite
    """

    level: float
    about: tuple[str, ...]
    rows: tuple[dict, ...]
    notes: tuple[str, ...]
    seed: int = 0
    policies: Mapping[str, Policy] = field(default_factory=dict)
    pairs: tuple[dict, ...] = ()
    choice: dict | None = None
    inputs: tuple = field(default=(), compare=False)

    def text(self) -> str:
        """The table, the verdicts and the notes as text for a reader."""
        share = f"{100 * self.level:.3g} %"
        lines = [
            *self.about,
            "",
            f"Click rates (CTR) in %; `at least` and the interval with {share} confidence",
            "Clicks and rows: effective, that is, as many as of equal weight would tell as much",
        ]
        if any(row["bound"].startswith("betting") for row in self.rows):
            lines.append(f"Betting's bounds: for the average over the log, rows in random order (seed {self.seed})")
        lines += text.aligned([HEADINGS, *self.table()])
        judged = self.rows[1:]
        lines += ["", f"Better than today's policy ({self.rows[0]['policy']})? Each answer with {share} confidence"]
        width = max(len(row["policy"]) for row in self.rows)
        lines += [f"  {row['policy']:<{width}}  {row['verdict']}{because(row)}" for row in judged]
        if len(judged) > 1:
            joint = 100 * (1 - (1 - self.level) / len(judged))
            lines += [f"To rely on all {len(judged)} at once, or to choose the best by them: --level {joint / 100:.4g}"]
        lines += self._decisions(width)
        if self.notes:
            lines += ["", "Before you use this:", *(f"  - {note}" for note in self.notes)]
        return text.joined(lines)

    __str__ = text

    def table(self) -> list[tuple[str, ...]]:
        """The rows as texts, below `HEADINGS`."""
        return [
            (row["policy"], *(text.percent(row[key]) for key in ("estimate", "snips", "lower", "low", "high")),
             f"{row['effective_clicks']:,.0f}", f"{row['effective']:,.0f}",
             f"{row['largest_weight']:.3g}", f"{row['declared_weight']:.3g}")
            for row in self.rows
        ]  # fmt: skip

    def report(self, path, *logs, settings: Mapping = (), inputs=()) -> None:
        """Write one self-contained HTML file.

        logs : each a `Log`, whose health is told
        settings, inputs : see `report.write`
        """
        from scant.advice import report

        files.check_outputs([path], [*self.inputs, *inputs])
        health = {log.name: log.check() for log in logs}
        report.write(self, path, health, settings, inputs)

    def decision(self) -> str:
        """Which policy to choose, in a sentence; empty where there is no choice."""
        choice = self.choice
        if choice is None:
            return ""
        share, lower = f"{100 * self.level:.3g} %", f"{text.percent(choice['lower'])} %"
        sentence = (
            f"Best of {choice['of']} by its lower bound: {choice['policy']}, with {share} confidence at least {lower}"
        )
        if not choice["better"]:
            return f"{sentence}; that it is better than today's is not certain"
        return f"{sentence}, and better than today's (at most {text.percent(choice['today'])} %)"

    def _decisions(self, width: int) -> list[str]:
        """Lines of text on doubly robust estimates, the choice, and each pair of policies."""
        lines, percent = [], text.percent
        for row in self.rows:
            if row.get("dr") == row.get("dr", np.nan):
                ends = f"at least {percent(row['dr_lower'])}, {percent(row['dr_low'])} to {percent(row['dr_high'])}"
                lines.append(f"  {row['policy']:<{width}}  {percent(row['dr'])}, {ends}")
        if lines:
            lines = [
                "",
                "Doubly robust CTR in %, by models of rewards fitted to earlier rows of a random order:",
                *lines,
            ]
        if self.choice and self.choice["of"] > 1:
            lines += ["", self.decision()]
        if len(self.pairs) > 1 or (self.pairs and self.choice["of"] > 1):
            head = f"Differences of CTR in %, each with its {100 * self.level:.3g} % interval; answers hold together"
            cells = [(f"  {pair['policy']} - {pair['other']}", percent(pair["difference"]),
                      f"{percent(pair['low'])} to {percent(pair['high'])}", _answer(pair, self.rows))
                     for pair in self.pairs]  # fmt: skip
            widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
            lines += [head] + [f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}  {d}" for a, b, c, d in cells]
        return lines

    def to_frame(self):
        """The rows as a frame of pandas, one for each policy, today's first."""
        import pandas as pd

        return pd.DataFrame(self.rows)

    def plot(self, axes=None):
        """Draw the click rates of all policies, with intervals and lower bounds; returns Matplotlib's axes.

        axes : to draw on; None for those of a new figure
        """
        from scant.advice import plotting

        return plotting.intervals(self.rows, self.level, axes)

    def _repr_html_(self) -> str:
        from html import escape

        numbers = [[text.percent(row[key]) for key in ("estimate", "lower", "low", "high")] for row in self.rows]
        cells = [(row["policy"], *values, f"{row['verdict']}{because(row)}" if row["verdict"] else "today's")
                 for row, values in zip(self.rows, numbers, strict=True)]  # fmt: skip
        head = ("policy", "CTR, %", "at least", "from", "to", "better than today's?")
        lines = [f"<p>{escape(sentence)}</p>" for sentence in self.about]
        lines.append("<table><thead><tr>" + "".join(f"<th>{cell}</th>" for cell in head) + "</tr></thead><tbody>")
        lines += ["<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in cells]
        lines.append(f"</tbody></table><p>Each with {100 * self.level:.3g} % confidence</p>")
        if self.notes:
            lines.append("<ul>" + "".join(f"<li>{escape(note)}</li>" for note in self.notes) + "</ul>")
        return "".join(lines)

    def write(self, path) -> None:
        """Write everything as JSON if the name ends in .json; else write the rows as CSV."""
        files.check_outputs([path], self.inputs)
        if Path(path).suffix.lower() == ".json":
            import json

            content = {
                "level": self.level,
                "seed": self.seed,
                "about": self.about,
                "notes": self.notes,
                "policies": [_plain(row) for row in self.rows],
                "pairs": [_plain(pair) for pair in self.pairs],
                "choice": self.choice and _plain(self.choice),
            }
            files.write_text(path, json.dumps(content, indent=1) + "\n")
        else:
            files.write_text(path, files.harmless(self.to_frame()).to_csv(index=False, lineterminator="\n"))


def compare(
    policies: Iterable | Mapping, test: Visits, train: Visits | None = None, level: float = 0.95,
    declared: float | str | None = None, shared: str = "refuse", seed: int = 0, same_log: bool = False,
    paths: Mapping | None = None, progress=silent, doubly_robust: bool = False,
) -> Evaluation:  # fmt: skip
    """Compare policies with today's.

    Parameters
    ----------
    policies : the policies, or a mapping of names to them: a `Policy`, which is fitted to `train` if it is not yet; a
        kind of learner (`LEARNT`), the same as `Policy(kind)`; or NAME, or column:NAME, for the probabilities in the
        column `policy:NAME` of `test`. "logging" (today's) and "uniform" are always compared
    test, train : logs
    level : the confidence of each lower bound, two-sided interval and verdict
    declared : the least propensity that the logging policy of `test` can give; needed if its propensities differ. If it
        is "unknown", bounds are `intervals.betting_without_range`
    shared : what is done with rows of `test` that are in `train`, too, if they are more than chance explains:
        "refuse" the logs, "drop" the rows from the test, or "keep" them
    seed : of the order of the rows for the betting bounds
    same_log : whether both logs are parts of one: today's CTR is then that of the test part
    paths : what messages call "test" and "train"
    progress : called with a sentence on what is begun
    doubly_robust : whether to add doubly robust estimates of learnt policies: the columns dr, dr_lower (one-sided),
        dr_low and dr_high; see `rewards`

    Returns
    -------
    evaluation : its rows have policy; lambda and epsilon (NaN for a policy without); level and bound; estimate (the
        importance-weighted CTR, 1 if it is above), snips, lower (one-sided), low and high (two-sided); the fields of
        `evaluation.Diagnostics`; untrained (ids of ads, separated by blanks); new_ads (the share of the rows of `test`
        whose ad is not in `train`, which a learnt policy never shows); drift (the p-value of the test that the rate is
        constant over the log; NaN with too few clicks); verdict ("yes", "no", "cannot tell", "none" if the log tells
        nothing usable, or empty for today's policy); needed_test and needed_train (how many rows of each log would make
        the verdict clear if the estimates stayed the same; NaN if it is clear, or if that log need not grow); refused
        and warnings (kinds of `evaluation.Notice`)

    Raises
    ------
    DataError : logs that are the same, share rows, or have different features; probabilities that do not sum to 1
    SettingError : an unknown policy, one to be learnt although there is no `train`, or no least propensity where it is
        needed
    """
    if shared not in SHARED:
        raise unknown("way with shared rows", shared, SHARED)
    paths = {"test": "test log", "train": "training log"} | dict(paths or {})
    named = {name: asked(policy, test) for name, policy in named_ones(policies, test.policies).items()}
    given = [policy for policy in named.values() if isinstance(policy, str)]
    learnt = {name: policy for name, policy in named.items() if not isinstance(policy, str)}
    if train is None and (unfitted := [name for name, policy in learnt.items() if not policy.fitted]):
        raise SettingError(f"{unfitted[0]} is learnt from a log: give one with --train, of other visits than the "
                           "test's, or part this one with --split")  # fmt: skip
    progress("compares the rows of the logs")
    least, constant = _least(paths["test"], test, declared)
    _check_given(paths["test"], test, least, given)
    notes = _problems_said(paths["test"], health.duplicates(test))
    shown = len(test.actions)
    if train is not None:
        notes += _problems_said(paths["train"], health.duplicates(train))
        test, more = _aligned_logs(test, train, paths)
        test, about_shared = _without_shared(test, train, paths, shared)
        notes += more + about_shared + _periods(test, train, same_log)
    lacking = [role for role, log in (("train", train), ("test", test)) if log is not None and not log.reward.any()]
    missing = "all rewards are 0: rewards look missing, so that there is no verdict"
    notes += [f"{paths[role]}: {missing}" for role in lacking]
    of_today = test if train is None or same_log else train
    case = _Comparison(test, of_today, level, least, constant, seed, bool(lacking))
    case.judge(Uniform.kind, np.full(len(test), 1 / shown), (1 / shown,))
    encoded = None
    if any(not policy.fitted for policy in learnt.values()):
        progress("encodes features")
        encoder = encoding.fit(train)
        encoded = encoder, encoder.transform(train, paths["train"])
    contexts = {}  # the features of the test, by encoder
    for name, policy in named.items():
        if isinstance(policy, str):
            case.judge(name, test.given[:, test.policies.index(policy)])
            continue
        if not policy.fitted:
            policy = learnt[name] = policy.fitted_to(train, encoded, progress)
        progress(f"{name}: chooses ads for {len(test):,} rows")
        encoder = policy.learnt.encoder
        if id(encoder) not in contexts:
            aligned = logs.align_features(test, encoder.names, paths["test"])
            contexts[id(encoder)] = encoder.transform(aligned, paths["test"]).features
        choice = policy.learnt.fitted.choice(contexts[id(encoder)], policy.epsilon)
        number = {ad: at for at, ad in enumerate(policy.actions)}
        action = np.array([number.get(ad, -1) for ad in test.actions], np.int32)[test.action]
        case.judge(
            name, learning.probability(choice, action), probabilities_of(policy), new_ads=float(np.mean(action < 0)),
            untrained=" ".join(policy.untrained), **{"lambda": policy.regularisation, "epsilon": policy.epsilon},
        )  # fmt: skip
        if doubly_robust:
            progress(f"{name}: learns rewards for the doubly robust estimate")
            case.doubly_robust(name, contexts[id(encoder)], action, choice)
        if policy.untrained:
            reason = "had no click, or nothing but clicks, in training: never shown, but if all ads are such"
            case.notes.append(f"{name}: ads {', '.join(policy.untrained)} {reason}")
    progress("compares the policies")
    pairs, choice = case.decided()
    about = _about(test, train, paths, same_log)
    return Evaluation(level, about, tuple(case.rows), tuple(notes + case.notes), seed, learnt, tuple(pairs), choice)


def named_ones(policies: Iterable | Mapping, columns: Iterable[str] = ()) -> dict[str, object]:
    """Policies by name; of several with one name, the later ones are numbered. Those always compared are left out.

    columns : NAMEs of the columns `policy:NAME` of the test

    Raises
    ------
    SettingError : a policy that is there twice; a name of one that is always compared for another, or a name that is
        also that of a column, so that either could be meant
    """
    if isinstance(policies, Mapping):
        given = list(policies.items())
    else:
        given = [(None, policy) for policy in ([policies] if isinstance(policies, str | Policy) else policies)]
    named, seen = {}, []
    for name, policy in given:
        meant, clashes = policy, isinstance(policy, Policy) and str(name).startswith(logs.POLICY)  # so `parts` has them
        if isinstance(policy, str):
            check_meant(policy, columns)
            if policy in ALWAYS and name in (None, policy):
                continue
            meant = policy if policy in LEARNT else COLUMN + policy.removeprefix(COLUMN)
            clashes = policy in ALWAYS
        if any(meant is other or (isinstance(meant, str) and meant == other) for other in seen):
            raise SettingError(f"{policy} is given twice: give each policy once")
        if name is None:
            base = policy.name if isinstance(policy, Policy) else str(policy)
            numbered = chain([base], (f"{base} {number}" for number in count(2)))
            name = next(name for name in numbered if name not in {*ALWAYS, *named})
        if clashes or not isinstance(name, str) or name in ("", *ALWAYS):
            raise SettingError(f"a policy cannot be called {name!r} here: {' and '.join(ALWAYS)} are always compared, "
                               f"by these names, and {logs.POLICY} is of columns")  # fmt: skip
        seen.append(meant)
        named[name] = policy
    return named


def check_meant(policy: str, columns: Iterable[str]) -> None:
    """Raise a SettingError for a name of this program's that a column has, too, so that either could be meant.

    columns : NAMEs of the columns `policy:NAME` of the test
    """
    if policy in {*ALWAYS, *LEARNT} & {*columns}:
        raise SettingError(f"{policy} is a policy of this program, and policy:{policy} a column of the test: say "
                           f"column:{policy}, or leave the column out with --ignore policy:{policy}")  # fmt: skip


def asked(policy, test: Visits) -> Policy | str:
    """What a policy asked for stands for: a `Policy`, or the NAME of a column `policy:NAME`."""
    if isinstance(policy, Policy):
        return policy
    if not isinstance(policy, str):
        raise SettingError(f"{policy!r} is no policy: give a Policy, the kind of a learner, or the name of a column")
    if policy in LEARNT:
        return Policy(policy)
    column = policy.removeprefix(COLUMN)
    if column not in test.policies:
        raise unknown("policy", column, (*LEARNT, *(f"{COLUMN}{name}" for name in test.policies)))
    return column


def probabilities_of(policy: Policy) -> tuple[float, ...]:
    """Every probability above 0 with which a learnt policy shows an ad."""
    return evaluation.declared_weights((1.0,), policy.epsilon, len(policy.actions))


class _Comparison:
    """The rows of an evaluation, as they are made, today's first, and the notes on them.

    test : the log to evaluate on
    of_today : the log whose rewards are those of today's policy
    least : the least propensity possible; None if it is not known
    constant : whether a single propensity is possible
    seed : of the order of the rows for the betting bounds
    undecided : whether no verdict is to be given
    """

    def __init__(self, test: Visits, of_today: Visits, level: float, least: float | None, constant: bool, seed: int,
                 undecided: bool):  # fmt: skip
        self.test, self.level, self.least, self.constant = test, level, least, constant
        self.seed, self.undecided, self.same_log = seed, undecided, of_today is test
        self.binary = bool(np.all((test.reward == 0) | (test.reward == 1)))
        self.order, self.rows, self.notes = health.by_time(test), [], []
        self.weights, self.lowers = {}, {}  # of policies that can be compared: their weights, and lower bounds
        evaluated = run.own_policy(of_today, level, None, self._shuffle(Logging.kind))
        drift = health.drift(of_today.reward, self.order if self.same_log else health.by_time(of_today))
        self.rows.append(self._row(Logging.kind, evaluated, drift))
        self.of_today = of_today

    def judge(self, name, target, possible: tuple[float, ...] | None = None, **learnt_columns) -> None:
        """Evaluate a policy.

        target : its probabilities of the logged ads
        possible : its probabilities that are possible, if they are few; None for any up to 1
        """
        weight = target / self.test.propensity
        if self.least is None:
            largest, weights = max(float(weight.max()), 1.0), None
        else:
            weights = tuple(share / self.least for share in possible or (1.0,))
            largest = max(weights)
        few = self.binary and self.constant and self.least is not None and possible is not None and len(weights) == 1
        evaluated = evaluation.evaluate(
            self.test.reward, self.test.propensity, target, largest, self.level,
            weights=weights if few else None, shuffle=self._shuffle(name),
        )  # fmt: skip
        drift = health.drift(self.test.reward * weight, self.order)
        without_range = {} if self.least is not None or evaluated.refused else self._without_range(name, weight)
        row = self._row(name, evaluated, drift, without_range, **learnt_columns)
        verdict = {"verdict": "none"} if self.undecided else verdict_of(row, self.rows[0], self.same_log)
        self.rows.append(row | verdict)
        if (row | verdict)["verdict"] != "none":
            self.weights[name] = weight, largest
            self.lowers[name] = self._lower(name, weight, largest, weights if few else None)

    def doubly_robust(self, name, features, action, choice) -> None:
        """Add the doubly robust estimate to the last row; see `rewards.doubly_robust`."""
        if name in self.weights and self.least is not None:
            weight, largest = self.weights[name]
            random = generator(self.seed, "advice", "doubly robust", name)
            order = random.permutation(len(self.test))
            terms = rewards.doubly_robust(features, action, self.test.reward, weight, choice, order)
            mean = decisions.Mean(
                float(terms.mean()), decisions.gridded(terms, -largest, largest + 1, random), -largest
            )
            low, high = mean.interval(self.level)
            self.rows[-1] |= {"dr": mean.estimate, "dr_lower": max(mean.lower(self.level), 0.0),
                              "dr_low": max(low, 0.0), "dr_high": min(high, 1.0)}  # fmt: skip

    def decided(self) -> tuple[list[dict], dict | None]:
        """Which is better of each pair of policies, and which to choose; see `decisions`."""
        weights, rows = dict(self.weights), len(self.test)
        if self.same_log and weights:
            weights = {Logging.kind: (np.ones(rows), 1.0)} | weights
        means = {}
        if self.least is not None:
            for first, second in combinations(weights, 2):
                (w, most), (v, other_most) = weights[first], weights[second]
                random = generator(self.seed, "advice", "pairs")  # one order for all
                means[first, second] = decisions.difference(self.test.reward, w, v, (most, other_most), random)
        pairs = decisions.pairs(list(weights), means, rows, self.level)
        if not self.lowers:
            return pairs, None
        estimates = {row["policy"]: row["estimate"] for row in self.rows}
        return pairs, decisions.chosen(self.lowers, self._upper_of_today(), self.level, estimates)

    def _upper_of_today(self):
        """Today's one-sided upper bound at a confidence; None if it was refused."""
        if self.rows[0]["refused"]:
            return None
        reward = self.of_today.reward
        support = (1.0,) if self.rows[0]["bound"] == "clopper-pearson" else None
        terms = intervals.counted(self._shuffle(Logging.kind).permutation(reward), 1.0, support)
        if support:
            return lambda level: float(intervals.clopper_pearson(terms, level, upper=True))
        return lambda level: 1 - float(intervals.betting(terms.reflected(), level))

    def _lower(self, name: str, weight, largest: float, support):
        """A policy's one-sided lower bound at a confidence."""
        terms = intervals.counted(self._shuffle(name).permutation(self.test.reward * weight), largest, support)
        bound = intervals.clopper_pearson if support else intervals.betting
        bound = intervals.betting_without_range if self.least is None else bound
        return lambda level: float(bound(terms, level))

    def _without_range(self, name: str, weight) -> dict:
        """The bounds of a policy whose largest weight is not known."""
        lower = self._lower(name, weight, max(float(weight.max()), 1.0), None)
        missed = self._shuffle(f"{name}, missed").permutation((1 - self.test.reward) * weight)
        missed = intervals.counted(missed, max(float(missed.max()), 1.0))
        high = 1 - float(intervals.betting_without_range(missed, (1 + self.level) / 2))
        return {"bound": "betting, no range", "lower": lower(self.level), "low": lower((1 + self.level) / 2),
                "high": high, "declared_weight": np.inf}  # fmt: skip

    def _shuffle(self, name: str) -> np.random.Generator:
        return generator(self.seed, "advice", "order", name)

    def _row(self, name, evaluated, drift: health.Drift, without_range=(), **learnt_columns) -> dict:
        row = row_of(name, evaluated, self.level, drift=drift.p, **learnt_columns) | dict(without_range)
        self.notes += noticed(name, evaluated)
        bounds = [bound for bound in evaluated.bounds if (bound.estimator, bound.bound) == ("ips", "betting")]
        if (above := bounds[0].estimate) > 1:
            self.notes.append(
                f"{name}: its importance-weighted CTR is {100 * above:.4g} %, more than any: shown as 100 %"
            )
        if row["low"] > row["high"]:
            self.notes.append(f"{name}: its bounds leave no CTR up to 100 %: propensities are wrong")
            row |= {"refused": "impossible", "estimate": np.nan, "lower": np.nan, "low": np.nan, "high": np.nan}
        if drift.found and not evaluated.refused:
            self.notes.append(f"{name}: its rate drifts, {drift}: the CTR is the average over the log's period")
        return row


def _check_given(path, test: Visits, least: float, names: list[str]) -> None:
    """Raise a DataError if the probabilities of a policy of the user's own do not sum to 1."""
    if not names:
        return
    asked = [test.policies.index(name) for name in names]
    of_these = replaced(test, given=test.given[:, asked], policies=tuple(names))
    for problem in health.probabilities(of_these, least):
        if problem.severity == "error":
            raise DataError(path, problem.reason, advice=problem.mend)


def _problems_said(path, problems) -> list[str]:
    return [f"{path}: {problem.reason}. {problem.mend}" for problem in problems]


def _aligned_logs(test: Visits, train: Visits, paths) -> tuple[Visits, list[str]]:
    """The test log with the features of the training log and its ads first, and a note on rows with other ads."""
    test = logs.align_features(test, train.names, paths["test"])
    shown, known = np.bincount(test.action, minlength=len(test.actions)), {*train.actions}
    new = [name for name, count in zip(test.actions, shown, strict=True) if count and name not in known]
    actions = (*train.actions, *new)
    index_of = {name: index for index, name in enumerate(actions)}
    moved = np.array([index_of.get(name, -1) for name in test.actions], np.int32)[test.action]
    test = replaced(test, action=moved, actions=actions)
    if not new:
        return test, []
    return test, [of_new_ads(paths, new, float(np.mean(moved >= len(train.actions))))]


def of_new_ads(paths: Mapping, new, share: float) -> str:
    """A note on ads that the training log lacks; `share` is that of the test's rows that show them."""
    return (f"{paths['test']}: {100 * share:.3g} % of rows show ads that the training log lacks ({logs.listing(new)}): "
            "learnt policies never show them, so that these rows have weight 0")  # fmt: skip


def _without_shared(test: Visits, train: Visits, paths, shared: str) -> tuple[Visits, list[str]]:
    """The test log to evaluate on, and a note, if rows are in both logs.

    Raises
    ------
    DataError : the logs are the same; or they share more rows than chance explains, and `shared` is "refuse"
    """
    found = health.shared(test, train)
    if len(test) == len(train) and found.count == len(test) and _equal(test, train):
        reason = f"the same log as {paths['train']}, from which policies are learnt: it flatters them"
        raise DataError(paths["test"], reason, advice="Evaluate on visits that were not learnt from")
    notes, drop = of_shared(found.count, len(test), found.chance, paths, shared)
    return test.take(~found.rows) if drop else test, notes


def of_shared(shared_rows: int, rows: int, chance: float, paths: Mapping, shared: str) -> tuple[list[str], bool]:
    """A note on the rows that are in both logs, if there are any, and whether to leave them out of the test.

    Parameters
    ----------
    shared_rows, rows : how many rows of the test are in both logs, and how many it has
    chance : about how many would be so by chance
    shared : what is done with them, see `compare`

    Raises
    ------
    DataError : there are more than chance explains, and they are refused, or there are no others
    """
    if not shared_rows:
        return [], False
    count = f"{shared_rows:,} of {rows:,} rows are in {paths['train']}, too"
    if not health.beyond_chance(shared_rows, chance):
        return [f"{paths['test']}: {count}, about as many as chance makes ({chance:,.0f}): they are kept"], False
    if shared == "refuse":
        advice = "--shared drop leaves them out of the test; --shared keep keeps them, if they are of different visits"
        reason = f"{count} (by chance: about {chance:,.0f}): what was learnt from them is judged too well"
        raise DataError(paths["test"], reason, advice=advice)
    if shared == "keep":
        return [f"{paths['test']}: {count}: if these are the same visits, what was learnt is judged too well"], False
    if rows - shared_rows < 2:
        raise DataError(paths["test"], f"{count}: nothing is left to evaluate on")
    return [f"{paths['test']}: {count}, and are left out of the test"], True


def _equal(test: Visits, train: Visits) -> bool:
    """Whether two logs have the same ads and rewards in the same order."""
    return np.array_equal(test.action, train.action) and np.array_equal(test.reward, train.reward)


def _periods(test: Visits, train: Visits, same_log: bool) -> list[str]:
    """A note if the logs are of different periods, as far as their timestamps tell."""
    if same_log or test.timestamp is None or train.timestamp is None:
        return []
    (first, last), (begins, ends) = ((log.timestamp.min(), log.timestamp.max()) for log in (train, test))
    if last >= begins and ends >= first:
        return []
    days = [np.datetime_as_string(time, "D") for time in (first, last, begins, ends)]
    return [f"the training log is of {days[0]} to {days[1]}, the test log of {days[2]} to {days[3]}: today's CTR is "
            "that of another time than the policies'"]  # fmt: skip


def check_declared(declared: float | str | None) -> None:
    """Raise a SettingError for a least propensity that is none."""
    if declared not in (None, UNKNOWN) and not (isinstance(declared, Real) and LEAST <= declared <= 1):
        raise SettingError(
            f"--least-propensity is {declared}; a propensity is above 0 and at most 1, here from {LEAST:g}"
        )


def _least(path, log: Visits, declared: float | str | None) -> tuple[float | None, bool]:
    """The least propensity possible, None if it is "unknown", and whether it is the only one."""
    check_declared(declared)
    if declared == UNKNOWN:
        return None, False
    constant = evaluation.least_propensity(log.propensity) is not None
    least = evaluation.least_propensity(log.propensity, declared)
    if least is None:
        raise SettingError(
            f"{path}: propensities differ, so that --least-propensity is needed: the least probability with which the "
            "policy that logged it shows any ad to anyone, by its design. The least in the log will not do: an ad's "
            "rarest showings are those that a log is likely to lack, and bounds made without them are too good. "
            "--least-propensity unknown makes do with wider bounds that need none"
        )
    if log.propensity.min() < least * (1 - 1e-9):
        row = int(np.argmin(log.propensity))
        raise SettingError(f"--least-propensity is {least}, but row {row + 1} of {path} has {log.propensity[row]:g}")
    return least, constant and math.isclose(least, log.propensity[0])


def row_of(name: str, evaluated: evaluation.Evaluation, level: float, **learnt) -> dict:
    """The row of a policy without its verdict.

    learnt : drift; and lambda, epsilon, untrained and new_ads, of a policy that was learnt
    """
    bounds = {(bound.estimator, bound.bound): bound for bound in evaluated.bounds}
    bound = bounds.get(("ips", "clopper-pearson")) or bounds["ips", "betting"]
    blank = {"lambda": np.nan, "epsilon": np.nan, "untrained": "", "new_ads": np.nan, "drift": np.nan} | learnt
    return {
        "policy": name, "lambda": blank["lambda"], "epsilon": blank["epsilon"], "level": level, "bound": bound.bound,
        "estimate": np.minimum(bound.estimate, 1.0), "snips": bounds["snips", "delta"].estimate,
        "lower": bound.lower, "low": bound.low, "high": bound.high,
        **vars(evaluated.diagnostics), **{key: blank[key] for key in ("untrained", "new_ads", "drift")},
        "verdict": "", "needed_test": np.nan, "needed_train": np.nan,
        "refused": evaluated.refused.kind if evaluated.refused else "",
        "warnings": " ".join(notice.kind for notice in evaluated.warnings),
    }  # fmt: skip


def verdict_of(row: Mapping, today: Mapping, same_log: bool) -> dict:
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


def _plain(row: Mapping) -> dict:
    """A mapping fit for JSON: None for NaN and infinity."""
    return {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in row.items()}


def noticed(name: str, evaluated: evaluation.Evaluation) -> list[str]:
    """Notes on a policy's evaluation: why it was refused, and its warnings."""
    notices = (evaluated.refused, *evaluated.warnings)
    notes = [f"{name}: {WARNINGS.get(notice.kind, notice.reason)}" for notice in notices if notice]
    mean = evaluated.diagnostics.mean_weight
    if mean < 1 and any(notice.kind == "mean-weight" for notice in evaluated.warnings):
        notes.append(
            f"{name}: if propensities are right, the log cannot show the ads that it chooses in about "
            f"{100 * (1 - mean):.2g} % of visits (deficient support): its lower bound holds, but its estimate and its "
            "upper end are too low by the clicks of these"
        )
    return notes


def _answer(pair: Mapping, rows) -> str:
    """Which policy of a pair is better, or how many rows it would take."""
    if pair["better"]:
        return f"{pair['better']} is better"
    if not pair["needed"] < HOPELESS * rows[-1]["rows"]:
        return f"open: too close for {HOPELESS:,} times as many rows"
    return f"open: about {text.rounded(pair['needed'])} test rows would tell"


def because(row: Mapping) -> str:
    """What follows a verdict in the text: why it is not clear, and what it would take."""
    if row["verdict"] == "none":
        if not row["refused"] and "mean-weight" in row["warnings"] and row["mean_weight"] < 1:
            return ": deficient support or wrong propensities, see below"
        return ": the log says nothing that can be used, see below"
    if row["verdict"] != "cannot tell":
        return (
            f", on average over the log's period: rates drift (p = {row['drift']:.2g})"
            if row["drift"] < health.DRIFTS
            else ""
        )
    if not row["needed_test"] < HOPELESS * row["rows"]:
        return f": the estimates are too close for {HOPELESS:,} times as many rows"
    parts = [(row["needed_test"], "test"), (row["needed_train"], "training")]
    needed = [f"{text.rounded(rows)} {log} rows" for rows, log in parts if rows == rows]
    return f": about {' and '.join(needed)} would give it an even chance, if the estimates are right"


def _about(test: Visits, train: Visits | None, paths, same_log: bool) -> tuple[str, ...]:
    """Sentences that describe the logs."""

    def sentence(role, path, log, is_today):
        ending = "; today's policy is the one that logged it" if is_today else ""
        return f"{role} {path}: {len(log):,} rows, {log.reward.sum():,.0f} clicks{ending}"

    of_test = sentence("Test log", paths["test"], test, train is None or same_log)
    if train is None:
        return (of_test,)
    return sentence("Training log", paths["train"], train, not same_log), of_test
