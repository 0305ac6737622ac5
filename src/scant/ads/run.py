"""Runs of ads: one learner on the logs of some seeds, what it chose, and what that is worth."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from scant.ads import campaigns, evaluation, learners, policies, scorers, selection
from scant.data import logs
from scant.data.logs import Log
from scant.errors import SettingError
from scant.files import sha256, write_parquet
from scant.randomness import generator
from scant.runs import origin

SCHEMA = pa.schema(
    {
        "seed": pa.int64(),
        "lambda": pa.float64(),  # NaN where there is none
        "fitted_on": pa.string(),  # "all" of the training log, or a "part" of it
        "chosen": pa.bool_(),  # whether this is the fit that the reading `tuning` reports
        "validation": pa.float64(),  # importance-weighted CTR by which lambda was chosen; NaN where there is none
        "epsilon": pa.float64(),
        "estimator": pa.string(),  # "true", "full-information", or one of `scant.ads.evaluation`
        "bound": pa.string(),
        "exact": pa.bool_(),  # whether the bound holds for every distribution and sample size
        "estimate": pa.float64(),
        "lower": pa.float64(),  # one-sided
        "low": pa.float64(),  # two-sided; of "true", of the numerical integration
        "high": pa.float64(),
        "rows": pa.int64(),  # of the log, or users, that the estimate is of
        "clicks": pa.float64(),
        "matched_clicks": pa.float64(),
        "effective_clicks": pa.float64(),
        "effective": pa.float64(),
        "largest_weight": pa.float64(),
        "declared_weight": pa.float64(),
        "unmatched": pa.float64(),
        "mean_weight": pa.float64(),
        "train_rows": pa.int64(),
        "train_clicks": pa.float64(),
        "ads": pa.int64(),
        "untrained": pa.int64(),  # ads that nothing could be learnt of
        "refused": pa.string(),  # why the estimates mean nothing; empty if they do
        "warnings": pa.string(),
    }
)
NUMBERS = ("estimate", "lower", "low", "high")
DIAGNOSED = SCHEMA.names[SCHEMA.names.index("rows") : SCHEMA.names.index("train_rows")]
NOTHING = {"bound": "", "exact": False, "refused": "", "warnings": ""} | dict.fromkeys(
    ("lower", "low", "high", *DIAGNOSED[1:]), float("nan")
)


@dataclass(frozen=True)
class Fit:
    """A model fitted to a log at one lambda.

    seen : indices of the features that it was fitted to
    threshold : which of a ranker's thresholds it is used with
    regularisation : lambda; NaN where there is none
    fitted_on : "all" of the training log, or the "part" of it that validation leaves
    validation : importance-weighted CTR on the validation part; NaN without one
    """

    model: scorers.Model
    seen: np.ndarray
    threshold: str
    regularisation: float = np.nan
    fitted_on: str = "all"
    validation: float = np.nan

    def best(self, features: np.ndarray) -> np.ndarray:
        """The ad to show in each context, int32 (rows); features are all of the log's."""
        return self.model.best(features[:, self.seen], self.threshold)

    def choice(self, features: np.ndarray, epsilon: float = 0.0) -> policies.Choice:
        """The epsilon-greedy policy around it (thesis, 5.5)."""
        return policies.Choice(self.best(features), epsilon, len(self.model.actions))


def fits(
    kind: str, log: Log, random: np.random.Generator, settings: scorers.Settings, lambdas=learners.LAMBDAS,
    tuning: str = "held-out", validation: float = 0.2, threshold: str = "f1", select: float = 1.0,
) -> list[Fit]:  # fmt: skip
    """A model for each lambda; under the reading "held-out", one more: the best lambda's, fitted to the whole log.

    Parameters
    ----------
    kind : of `scant.ads.learners.KINDS`, or `module:Class` of one's own
    log : the training log
    settings : of the scorers, but for lambda
    lambdas : the grid; no choice is made of one lambda, nor of a kind that has none
    tuning : "held-out" fits the grid on a part of the log, and chooses by the importance-weighted CTR on the rest;
        "paper" fits it on the whole log, and leaves the choice to the test
    validation : the share of the log's rows that chooses
    threshold : which of a ranker's thresholds, see `policies.threshold`
    select : the share of features that are kept, those of the most information gain on the whole log

    Returns
    -------
    fits : under "held-out" the chosen one is the last

    Raises
    ------
    SettingError : settings that the kind cannot have
    """
    learners.check_options(kind, settings.options)
    seen = np.arange(len(log.names))
    if select < 1:
        seen = selection.top_share(selection.information_gain(log.features, log.reward > 0), select)
        log = replace(log, features=log.features[:, seen], names=tuple(log.names[i] for i in seen))
    made = partial(Fit, seen=seen, threshold=threshold)
    if not learners.learner_of(kind).regularised:
        return [made(scorers.train(kind, log, random, settings))]
    if tuning == "paper" or len(lambdas) == 1:
        grid = scorers.fit_grid(kind, log, random, lambdas, settings)
        return [made(model, regularisation=value) for value, model in grid.items()]
    part, held = scorers.split(log, validation, random)
    grid = scorers.fit_grid(kind, part, random, lambdas, settings)
    values = scorers.validate(grid, held, threshold)
    best = scorers.select(values)
    final = scorers.train(kind, log, random, replace(settings, regularisation=best))
    return [
        *(made(grid[value], regularisation=value, fitted_on="part", validation=values[value]) for value in grid),
        made(final, regularisation=best),
    ]


def run_job(job: dict, target, seeds: list[int], inputs: dict[str, list[str]]) -> None:
    """Make a run file, as the command line asks for it.

    inputs : the logs of "train" and "test", and, if they are simulated, the "campaign"
    """
    campaign = next(iter(inputs.get("campaign", ())), None)
    run(job, target, seeds, inputs["train"], inputs["test"], campaign)


def run(job: dict, target, seeds: list[int], train_paths, test_paths, campaign_path=None) -> None:
    """Fit a learner to the training log of each seed, evaluate its policies on the test log, and write the run file.

    Learners share logs, the random numbers of their fits, and the users by whom the true CTR is known.

    Parameters
    ----------
    job : study, study_seed, experiment, stream (the log's id), learner, `learner_settings`, `log_settings`, and the
        experiment's readings
    train_paths, test_paths : logs, one for each seed or one for all
    campaign_path : the campaign that the logs are of, if they are simulated

    Raises
    ------
    DataError, SettingError : the logs do not fit each other, the learner or the settings
    """
    from tqdm import tqdm

    world = campaigns.load(campaign_path) if campaign_path else None
    rows, read = [], None
    for i, seed in enumerate(tqdm(seeds, desc=job["learner"], unit=" seeds", delay=2, disable=None)):
        paths = [each[min(i, len(each) - 1)] for each in (train_paths, test_paths)]
        if paths != read:
            (train, about), (test, _) = map(logs.read, paths)
            test, read = logs.align(test, train.actions, train.names, paths[1]), paths
        case = Case(job, seed, train, test, about.get("source", "log"), world)
        rows += [{"seed": seed} | row for row in case.rows()]
    inputs = {"/".join(Path(path).parts[-2:]): sha256(path) for path in (*train_paths, *test_paths)}
    made = origin(seeds, ()) | {"source": about.get("source", "log"), "inputs": inputs}
    write_parquet(pa.Table.from_pylist(rows, SCHEMA), target, job | made)


@dataclass(frozen=True)
class Case:
    """One learner, the logs of one seed, and what is known of their world."""

    job: dict
    seed: int
    train: Log
    test: Log
    source: str  # see `draw.SOURCES`
    world: campaigns.Campaign | None

    @property
    def learner(self) -> type[learners.AdLearner]:
        return learners.learner_of(self.job["learner_settings"]["kind"])

    def rows(self) -> Iterator[dict]:
        """The rows of the run file: fits, epsilons, estimators and bounds."""
        found, log = [], self.train
        logged = {"ads": len(log.actions), "train_rows": len(log), "train_clicks": float(log.reward.sum())}
        for fit in self._fits():
            about = logged | {"lambda": np.nan, "validation": np.nan, "fitted_on": "all", "untrained": 0}
            if fit:
                about |= {"lambda": fit.regularisation, "validation": fit.validation, "fitted_on": fit.fitted_on}
                about |= {"untrained": len(fit.model.untrained)}
            epsilons = self.job["epsilons"]
            found.append([about | {"epsilon": one} | row for one in epsilons for row in self._rows(fit, one)])
        chosen = len(found) - 1
        if self.job["tuning"] == "paper":
            chosen = max(range(len(found)), key=lambda i: (_on_test(found[i]), found[i][0]["lambda"]))
        return (row | {"chosen": i == chosen} for i, rows in enumerate(found) for row in rows)

    def _fits(self) -> list[Fit | None]:
        """What was fitted; of a control, nothing."""
        job, learner = self.job, self.job["learner_settings"]
        if not self.learner.learns:
            return [None]
        grid = learner.get(learners.GRID.name, learners.LAMBDAS)
        readings = {key: job[key] for key in ("tuning", "validation", "threshold", "select")}
        settings = scorers.resolve(learner, job)
        return fits(learner["kind"], self.train, self._random("fit"), settings, grid, **readings)

    def _rows(self, fit: Fit | None, epsilon: float) -> Iterator[dict]:
        """What a policy is worth by each estimator and bound."""
        if self.source == "classification":
            label = self.test.action
            value = self._choice(fit, epsilon, self.test.features).probability(label).mean()
            yield NOTHING | {"estimator": "full-information", "estimate": float(value), "rows": len(label)}
            return
        if self.world:
            yield NOTHING | self._truth(fit, epsilon)
        found = self._estimated(fit, epsilon)
        diagnosed = {key: value for key, value in asdict(found.diagnostics).items() if key in DIAGNOSED}
        diagnosed["refused"] = found.refused.kind if found.refused else ""
        diagnosed["warnings"] = " ".join(notice.kind for notice in found.warnings)
        for row in found.rows():
            yield diagnosed | {key: row[key] for key in ("estimator", "bound", "exact", *NUMBERS)}

    def _choice(self, fit: Fit | None, epsilon: float, features: np.ndarray):
        """What the learner does in some contexts: those of the test where a classification set tells the best ad."""
        if fit:
            return fit.choice(features, epsilon)
        return self.learner.choice(features, len(self.train.actions), epsilon, self.world, self.test.action)

    def _truth(self, fit: Fit | None, epsilon: float) -> dict:
        choose = partial(self._choice, fit, epsilon)
        value, error = campaigns.true_ctr(self.world, choose, self.job["users"], self._random("users"))
        ends = {"low": value - 1.96 * error, "high": value + 1.96 * error}
        return {"estimator": "true", "exact": True, "estimate": value, "rows": self.job["users"]} | ends

    def _estimated(self, fit: Fit | None, epsilon: float) -> evaluation.Evaluation:
        random, level = self._random("bootstrap"), self.job["level"]
        if self.learner.logged:
            return own_policy(self.train, level, random)
        declared = self.job["log_settings"].get("least_propensity")
        return estimates(self._choice(fit, epsilon, self.test.features), self.test, self.train, level, random, declared)

    def _random(self, what: str) -> np.random.Generator:
        return generator(self.job["study_seed"], "ads", self.job["stream"], self.seed, what)


def estimates(
    chosen: policies.Choice,
    test: Log,
    train: Log,
    level: float,
    random: np.random.Generator,
    declared: float | None = None,
) -> evaluation.Evaluation:
    """A policy's CTR on a test log, by all estimators and bounds.

    The doubly robust estimate takes each ad's click rate in the training log for its reward everywhere.

    Parameters
    ----------
    chosen : what the policy does in each row of the test log
    level : of the bounds
    random : for the bootstrap
    declared : the least propensity that the policy which logged the test can have; not needed if all are the same

    Raises
    ------
    SettingError : it is needed
    """
    least = evaluation.least_propensity(test.propensity, declared)
    if least is None:
        raise SettingError(
            "least_propensity is needed: the test log's propensities differ, and the least that was seen is no bound "
            "on those that are possible. Set it to the least that its policy gives any ad"
        )
    binary = np.all((test.reward == 0) | (test.reward == 1))
    constant = evaluation.least_propensity(test.propensity) is not None
    weights = evaluation.declared_weights((least,), chosen.epsilon, chosen.actions) if binary and constant else None
    shown = np.bincount(train.action, minlength=chosen.actions)
    rates = np.bincount(train.action, train.reward, chosen.actions) / np.maximum(shown, 1)
    return evaluation.evaluate(
        test.reward, test.propensity, chosen.probability(test.action),
        evaluation.declared_weight(least, chosen.epsilon, chosen.actions), level, random,
        (rates[test.action], chosen.expected(rates)), weights,
    )  # fmt: skip


def own_policy(log: Log, level: float, random: np.random.Generator) -> evaluation.Evaluation:
    """The CTR of the policy that logged a log, from the log itself: every weight is 1."""
    binary = np.all((log.reward == 0) | (log.reward == 1))
    certain = np.ones(len(log))
    return evaluation.evaluate(log.reward, certain, certain, 1.0, level, random, weights=(1.0,) if binary else None)


def _on_test(rows: list[dict]) -> float:
    """What the reading "paper" goes by: the CTR on the test, at the first epsilon; the least if it says nothing."""
    seen = [row["estimate"] for row in rows if row["estimator"] in ("full-information", "ips")]
    return next((value for value in seen if not np.isnan(value)), -np.inf)
