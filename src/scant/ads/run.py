"""Runs of ads: fit one learner to the training logs of some seeds, and evaluate its policies on the
test logs.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from scant.bandits import campaigns, evaluation, learners, policies, scorers, selection
from scant.data import logs
from scant.data.logs import Log
from scant.declare.runs import origin, table_of_rows
from scant.errors import SettingError
from scant.files import sha256, write_parquet
from scant.randomness import generator

SCHEMA = pa.schema(
    {
        "seed": pa.int64(),
        "lambda": pa.float64(),  # NaN for a learner without one
        "fitted_on": pa.string(),  # "all" of the training log, or a "part" of it
        "chosen": pa.bool_(),  # whether the reading `tuning` chooses this fit
        # importance-weighted CTR on the validation part; NaN if there was none
        "validation": pa.float64(),
        "epsilon": pa.float64(),
        # "true", "full-information", or one of `scant.bandits.evaluation`
        "estimator": pa.string(),
        "bound": pa.string(),
        "exact": pa.bool_(),  # whether the bound holds for every distribution and sample size
        "estimate": pa.float64(),
        "lower": pa.float64(),  # one-sided
        "low": pa.float64(),  # two-sided; for "true", the interval of the average over users
        "high": pa.float64(),
        "rows": pa.int64(),  # of the test log; for "true", the number of users
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
        "untrained": pa.int64(),  # ads that nothing could be learnt about
        "refused": pa.string(),  # why there are no estimates; empty if there are
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

    seen : indices of the features that the model uses
    threshold : the measure that a ranker's thresholds maximise
    regularisation : lambda; NaN for a learner without one
    fitted_on : "all" of the training log, or the "part" of it that is not for validation
    validation : importance-weighted CTR on the validation part; NaN if there was none
    """

    model: scorers.Model
    seen: np.ndarray
    threshold: str
    regularisation: float = np.nan
    fitted_on: str = "all"
    validation: float = np.nan

    def best(self, features: np.ndarray, eligible: np.ndarray | None = None) -> np.ndarray:
        """The ad to show in each context, int32 (rows), from all features of the log, float32 (rows
        x d).

        eligible : the ads of each context to choose from, bool (rows x K); None for all
        """
        seen = features if len(self.seen) == features.shape[1] else features[:, self.seen]
        return self.model.best(seen, self.threshold, eligible)

    def choice(
        self, features: np.ndarray, epsilon: float = 0.0, eligible: np.ndarray | None = None
    ) -> policies.Choice:
        """The epsilon-greedy policy around the model's best ads (thesis, 5.5); for `eligible` see
        `best`.
        """
        return policies.Choice(
            self.best(features, eligible), epsilon, len(self.model.actions), eligible
        )


def fits(
    kind: str,
    log: Log,
    random: np.random.Generator,
    settings: scorers.Settings,
    lambdas=learners.LAMBDAS,
    tuning: str = "held-out",
    validation: float = 0.2,
    threshold: str = "f1",
    select: float = 1.0,
    progress=None,
    gains: np.ndarray | None = None,
    loss: Callable | None = None,
) -> list[Fit]:
    """Fit a model for each lambda; with `tuning` "held-out", fit one more to the whole log, with
    the best lambda.

    Parameters
    ----------
    kind : of `scant.bandits.learners.KINDS`, or a user's `module:Class`
    log : the training log
    settings : of the scorers, but for lambda
    lambdas : the grid; nothing is chosen from a single lambda, or for a learner without one
    tuning : "held-out" fits the grid to a part of the log, and chooses by the importance-weighted
        CTR on the rest; "paper" fits it to the whole log, and leaves the choice to the test log
    validation : the share of the rows that are held out
    threshold : the measure that a ranker's thresholds maximise, see `policies.threshold`; or "none"
    select : the share of features that are kept: those with the largest information gain on the
        whole log
    progress : see `scorers.train`
    gains : the information gains of the features, if they are known
    loss : a function (model, rows held out), by which lambdas of equal CTR are told apart; None
        takes the largest of them

    Returns
    -------
    fits : with "held-out", the chosen fit is the last
    """
    learners.check_options(kind, settings.options)
    seen = np.arange(len(log.names))
    if select != 1:
        gains = selection.information_gain(log.features, log.reward > 0) if gains is None else gains
        seen = selection.top_share(gains, select)
        log = replace(log, features=log.features[:, seen], names=tuple(log.names[i] for i in seen))
    fit = partial(Fit, seen=seen, threshold=threshold)
    if not learners.learner_of(kind).regularised:
        return [fit(scorers.train(kind, log, random, settings, progress))]
    if tuning == "paper" or len(lambdas) == 1:
        grid = scorers.fit_grid(kind, log, random, lambdas, settings, progress)
        return [fit(model, regularisation=value) for value, model in grid.items()]
    part, held_out = scorers.split(log, validation, random)
    grid = scorers.fit_grid(kind, part, random, lambdas, settings, progress)
    values = scorers.validate(grid, held_out, threshold)
    losses = {value: loss(model, held_out) if loss else 0.0 for value, model in grid.items()}
    best_lambda = scorers.select(values, losses)
    final_model = scorers.train(
        kind, log, random, replace(settings, regularisation=best_lambda), progress
    )
    return [
        *(
            fit(grid[value], regularisation=value, fitted_on="part", validation=values[value])
            for value in grid
        ),
        fit(final_model, regularisation=best_lambda),
    ]


def run_job(job: dict, target, seeds: list[int], inputs: dict[str, list[str]]) -> None:
    """Write the run file of a job.

    job : see `run`
    inputs : the files of the "train" and "test" logs and, for a simulated campaign, its "campaign"
    """
    campaign = next(iter(inputs.get("campaign", ())), None)
    run(job, target, seeds, inputs["train"], inputs["test"], campaign)


def run(job: dict, target, seeds: list[int], train_paths, test_paths, campaign_path=None) -> None:
    """Fit a learner to the training log of each seed, evaluate its policies on the test log, and
    write the run file.

    Learners are paired: they share logs, the random numbers of their fits, and the users of the
    true CTR.

    job : study, study_seed, experiment, stream (the log's id), learner, `learner_settings`,
        `log_settings`, and the experiment's readings
    train_paths, test_paths : logs, one for each seed or one for all
    campaign_path : the campaign that the logs are drawn from, if they are simulated
    """
    from tqdm import tqdm

    world = campaigns.load(campaign_path) if campaign_path else None
    rows, paths_read = [], None
    for i, seed in enumerate(
        tqdm(seeds, desc=job["learner"], unit=" seeds", delay=2, disable=None)
    ):
        paths = [
            part_paths[min(i, len(part_paths) - 1)] for part_paths in (train_paths, test_paths)
        ]
        if paths != paths_read:  # a log that all seeds share is read once
            place, paths_read = _place(*paths), paths
        case = Case(job, seed, place, world)
        rows += [{"seed": seed} | row for row in case.rows()]
    inputs = {"/".join(Path(path).parts[-2:]): sha256(path) for path in (*train_paths, *test_paths)}
    metadata = origin(seeds, ()) | {"source": place.log_origin, "inputs": inputs}
    write_parquet(table_of_rows(SCHEMA, rows), target, job | metadata)


@dataclass(frozen=True)
class Place:
    """The logs of a seed, on which all learners are fitted and judged.

    test : with the ads and features of the training log
    log_origin : what the logs are made from: "classification", "campaign" or "log", see
        `scant.ads.family`
    """

    train: Log
    test: Log
    log_origin: str

    @cached_property
    def gains(self) -> np.ndarray:
        """The information gain of each feature in the training log, float64 (d)."""
        return selection.information_gain(self.train.features, self.train.reward > 0)


def _place(train_path, test_path) -> Place:
    """The logs of two files; a DataError if they do not fit each other."""
    (train, metadata), (test, _) = map(logs.read, (train_path, test_path))
    return Place(
        train,
        logs.align(test, train.actions, train.names, test_path),
        metadata.get("source", "log"),
    )


@dataclass(frozen=True)
class Case:
    """One learner on the logs of one seed.

    job : see `run`
    world : the campaign that the logs are drawn from, if they are
    """

    job: dict
    seed: int
    place: Place
    world: campaigns.Campaign | None

    @property
    def learner(self) -> type[learners.AdLearner]:
        return learners.learner_of(self.job["learner_settings"]["kind"])

    def rows(self) -> Iterator[dict]:
        """The rows of the run file, one for each fit, epsilon, estimator and bound."""
        groups, log = [], self.place.train  # groups: the rows of each fit
        fits, epsilons = self._fits(), self.job["epsilons"]
        truths = iter(self._truths([(fit, epsilon) for fit in fits for epsilon in epsilons]))
        log_columns = {
            "ads": len(log.actions),
            "train_rows": len(log),
            "train_clicks": float(log.reward.sum()),
        }
        for fit in fits:
            columns = log_columns | {
                "lambda": fit.regularisation if fit else np.nan,
                "validation": fit.validation if fit else np.nan,
                "fitted_on": fit.fitted_on if fit else "all",
                "untrained": len(fit.model.untrained) if fit else 0,
            }
            groups.append(
                [
                    columns | {"epsilon": epsilon} | row
                    for epsilon in epsilons
                    for row in (*next(truths), *self._rows(fit, epsilon))
                ]
            )
        chosen = len(groups) - 1
        if self.job["tuning"] == "paper":
            # Of equal ones the largest lambda is chosen.
            chosen = max(
                range(len(groups)), key=lambda i: (_on_test(groups[i]), groups[i][0]["lambda"])
            )
        return (row | {"chosen": i == chosen} for i, rows in enumerate(groups) for row in rows)

    def _fits(self) -> list[Fit | None]:
        """The fits of the learner; a single None for a control, which learns nothing."""
        job, learner = self.job, self.job["learner_settings"]
        if not self.learner.learns:
            return [None]
        grid = learner.get(learners.GRID.name, learners.LAMBDAS)
        readings = {key: job[key] for key in ("tuning", "validation", "threshold", "select")}
        readings["gains"] = self.place.gains if job["select"] < 1 else None
        settings = scorers.resolve(learner, job)
        return fits(
            learner["kind"], self.place.train, self._random("fit"), settings, grid, **readings
        )

    def _rows(self, fit: Fit | None, epsilon: float) -> Iterator[dict]:
        """The CTR of a policy on the test log by each estimator and bound, as columns of a run
        file.
        """
        if self.place.log_origin == "classification":
            label = self.place.test.action
            value = self._choice(fit, epsilon, self.place.test.features).probability(label).mean()
            yield NOTHING | {
                "estimator": "full-information",
                "estimate": float(value),
                "rows": len(label),
            }
            return
        evaluated = self._estimated(fit, epsilon)
        diagnosed = {
            key: value for key, value in asdict(evaluated.diagnostics).items() if key in DIAGNOSED
        }
        diagnosed["refused"] = evaluated.refused.kind if evaluated.refused else ""
        diagnosed["warnings"] = " ".join(notice.kind for notice in evaluated.warnings)
        for row in evaluated.rows():
            yield diagnosed | {key: row[key] for key in ("estimator", "bound", "exact", *NUMBERS)}

    def _choice(self, fit: Fit | None, epsilon: float, features: np.ndarray):
        """The policy on some contexts.

        For the oracle of a classification set they must be those of the test log.
        """
        if fit:
            return fit.choice(features, epsilon)
        return self.learner.choice(
            features, len(self.place.train.actions), epsilon, self.world, self.place.test.action
        )

    def _truths(self, policies: list[tuple[Fit | None, float]]) -> list[list[dict]]:
        """By policy (a fit and an epsilon), a list with the row of its true CTR; empty lists
        without a campaign.

        Rows have a 95 % interval of the average over users.
        """
        if not self.world:
            return [[] for _ in policies]
        policies, users = [partial(self._choice, *policy) for policy in policies], self.job["users"]
        means = campaigns.true_ctrs(self.world, policies, users, self._random("users"))
        known = NOTHING | {"estimator": "true", "exact": True, "rows": users}
        return [
            [known | {"estimate": value, "low": value - 1.96 * error, "high": value + 1.96 * error}]
            for value, error in means
        ]

    def _estimated(self, fit: Fit | None, epsilon: float) -> evaluation.Evaluation:
        """The CTR of a policy estimated on the test log, or, for the logging policy, on the
        training log.
        """
        random, level = self._random("bootstrap"), self.job["level"]
        drawn = self.place.log_origin != "log"  # in random order already
        shuffle = None if drawn else self._random("order")
        if self.learner.logged:
            return own_policy(self.place.train, level, random, shuffle)
        declared = self.job["log_settings"].get("least_propensity")
        chosen = self._choice(fit, epsilon, self.place.test.features)
        return estimates(
            chosen, self.place.test, self.place.train, level, random, declared, shuffle
        )

    def _random(self, what: str) -> np.random.Generator:
        return generator(self.job["study_seed"], "ads", self.job["stream"], self.seed, what)


def estimates(
    chosen: policies.Choice,
    test: Log,
    train: Log,
    level: float,
    random: np.random.Generator,
    declared: float | None = None,
    shuffle: np.random.Generator | None = None,
) -> evaluation.Evaluation:
    """A policy's CTR on a test log, by all estimators and bounds.

    The reward model of the doubly robust estimate is each ad's click rate in the training log, in
    every context.

    chosen : the policy on the contexts of the test log
    level : confidence of the bounds
    random : the generator for the bootstrap
    declared : the least propensity that the logging policy of the test log can give; not needed if
        all propensities are the same
    shuffle : see `evaluation.evaluate`
    """
    least = evaluation.least_propensity(test.propensity, declared)
    if least is None:
        raise SettingError(
            "least_propensity is needed: the test log's propensities differ, and the least that "
            "was seen is no bound on those that are possible. Set it to the least that its policy "
            "gives any ad"
        )
    binary = np.all((test.reward == 0) | (test.reward == 1))
    constant = evaluation.least_propensity(test.propensity) is not None
    weights = evaluation.declared_weights((least,), chosen.epsilon, chosen.actions)
    impressions = np.bincount(train.action, minlength=chosen.actions)
    # 0 of an ad never shown
    rates = np.bincount(train.action, train.reward, chosen.actions) / np.maximum(impressions, 1)
    return evaluation.evaluate(
        test.reward,
        test.propensity,
        chosen.probability(test.action),
        weights[-1],
        level,
        random,
        (rates[test.action], chosen.expected(rates)),
        weights if binary and constant else None,
        shuffle,
    )


def own_policy(
    log: Log, level: float, random: np.random.Generator, shuffle=None
) -> evaluation.Evaluation:
    """The CTR of the policy that logged a log, estimated from this log: every weight is 1.

    random, shuffle : see `evaluation.evaluate`
    """
    binary = np.all((log.reward == 0) | (log.reward == 1))
    ones = np.ones(len(log))
    weights = (1.0,) if binary else None
    return evaluation.evaluate(
        log.reward, ones, ones, 1.0, level, random, weights=weights, shuffle=shuffle
    )


def _on_test(rows: list[dict]) -> float:
    """The CTR on the test log by which the reading "paper" chooses lambda, from a fit's rows: their
    first estimate that is not NaN, else -inf.
    """
    ctrs = [row["estimate"] for row in rows if row["estimator"] in ("full-information", "ips")]
    return next((value for value in ctrs if not np.isnan(value)), -np.inf)
