"""Runs of generalisation: all learners on samples of one population, of all sizes that an
experiment asks for.

A smaller sample is the beginning of a larger one, and a shorter list the beginning of a longer one.
All learners are given the same samples, and their risks are the means over the same fresh queries,
so that differences are paired.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
import pyarrow as pa

from scant.data import stream as streams
from scant.declare.declarations import own_class
from scant.declare.runs import origin
from scant.errors import SettingError
from scant.files import write_parquet
from scant.generalisation import populations, solve
from scant.generalisation.learners import LEARNERS, NOT_CONVEX, Batch, Fit
from scant.generalisation.populations import Population
from scant.randomness import generator
from scant.theory import generalisation as theory

SCHEMA = pa.schema(
    {
        "learner": pa.string(),
        "kind": pa.string(),
        "surrogate": pa.string(),
        "ball": pa.string(),  # l2 or l1
        "W": pa.float64(),  # the ball's radius
        # R_X: the largest l2 norm of a document for the l2 ball, sup norm for the l1 ball
        "R": pa.float64(),
        "seed": pa.int64(),
        "n": pa.int64(),
        "m": pa.int64(),
        "d": pa.int64(),
        # certified, not certified, local (no certificate), one pass, one's own
        "status": pa.string(),
        # nowhere in the ball is what is minimised further below the learner's value
        "certificate": pa.float64(),
        "passes": pa.int64(),  # over the sample
        "spread": pa.float64(),  # SmoothDCG: the worst mean loss that a start led to, less the best
        "norm": pa.float64(),  # of the weights, in the ball's norm
        "rate": pa.float64(),  # the step size, or lambda; NaN for the others
        "train": pa.float64(),  # mean loss on the sample
        "risk": pa.float64(),  # mean loss on fresh queries
        "risk_error": pa.float64(),  # its standard error
        "best": pa.float64(),  # mean loss of the best weights w* on the same fresh queries
        "at_zero": pa.float64(),  # mean loss of weights 0, on the queries that w* was found on
        # mean loss of the worst weights known, -w* with the ball's norm, on the same queries
        "worst": pa.float64(),
        "found": pa.float64(),  # mean loss of w* on the same queries
        # about how far the risk of w*, found on a sample, is above the least
        "best_error": pa.float64(),
        "excess": pa.float64(),  # risk - best
        "excess_error": pa.float64(),  # its standard error, of paired differences
        # risk - mean loss at the weights where ascent found it largest; NaN without ascents
        "uniform": pa.float64(),
        "uniform_error": pa.float64(),  # the standard error of that risk
    }
)
CHUNK = 8_000_000  # numbers: fresh queries are drawn and measured in chunks of about this size
SEARCH = {"passes": 80, "enough": 1e-3}  # of ascents, whose ends need not be exact
BEST_STARTS = 5  # of the search for the best weights, if the surrogate is not convex


@dataclass(frozen=True)
class Setup:
    """What all samples of a job with one number of features share.

    job : the job's settings, see `run`
    population : with all features
    smaller : the population with only the features that grades depend on
    """

    job: dict
    population: Population
    smaller: Population

    def random(self, *names) -> np.random.Generator:
        """A generator that depends only on the study's seed and these names, so that all learners
        have the same draws.
        """
        return generator(*_axes(self.job), *names)

    def mean(self, sample: solve.Sample, surrogate: str, ridge: float = 0.0) -> solve.Mean:
        """The mean loss on a sample, as a function of the weights; see `solve.Mean`."""
        return solve.Mean(sample, surrogate, self.job["sigma"], ridge)

    def ball(self, norm: str) -> solve.Ball:
        """The job's ball in this norm, "l2" or "l1"."""
        return solve.Ball(norm, self.job["W"] if norm == "l2" else self.job["W1"])

    @cached_property
    def for_best(self) -> tuple[np.ndarray, np.ndarray]:
        """The sample on which the best weights are found: features and grades."""
        return self.smaller.draw(self.random("best"), self.job["reference"], max(self.job["m"]))

    @cached_property
    def for_check(self) -> tuple[np.ndarray, np.ndarray]:
        """A fresh sample that tells how good the best weights are: features and grades."""
        return self.smaller.draw(
            self.random("check"), self.job["reference"] // 2, max(self.job["m"])
        )


@dataclass(frozen=True)
class Best:
    """The best weights of a ball, as far as known.

    weights : w*
    risk : mean loss of w* on the queries that it was found on
    at_zero, worst : mean loss, on these queries, of weights 0, and of -w* stretched to the ball's
        radius
    error : about how far the risk of w* is above the least
    """

    weights: np.ndarray
    risk: float
    at_zero: float
    worst: float
    error: float


@dataclass(frozen=True)
class Task:
    """What a learner is to fit, and the searches that it may use.

    mean : the mean loss on the sample, as a function of the weights
    ball : the ball in which the weights are sought
    problem : sizes and constants, on which theory's rates depend
    random : the learner's own generator
    """

    setup: Setup
    mean: solve.Mean
    ball: solve.Ball
    problem: theory.Problem
    random: np.random.Generator

    @property
    def sample(self) -> solve.Sample:
        return self.mean.sample

    def descend(self, rate: float) -> solve.Solution:
        """The average weights of online gradient descent, once over the sample."""
        return solve.descend(self.mean, self.ball, rate)

    def minimise(self, ridge: float) -> solve.Solution:
        """The weights of least mean loss + `ridge` / 2 times the square of their norm."""
        mean = self.setup.mean(self.sample, self.mean.surrogate, ridge)
        return solve.minimise(mean, np.zeros(self.sample.d), self.ball)

    def from_starts(self, starts: int) -> tuple[solve.Solution, float]:
        """The weights of least mean loss that searches from several starts find, and the spread of
        their losses; see `solve.from_starts`.
        """
        return solve.from_starts(self.mean, self.ball, starts, self.random)


class Own:
    """A user's own learner, which fits as the others do."""

    minimises = False

    def __init__(self, settings: dict):
        self.cls, self.settings = own_class(settings["kind"]), settings
        self.surrogate, self.ball = (
            getattr(self.cls, "surrogate", "listnet"),
            getattr(self.cls, "ball", "l2"),
        )

    def fit(self, task: Task) -> Fit:
        """Fit a task's sample with the user's class.

        Raises
        ------
        SettingError : its weights are not as many as the features, or not finite
        """
        options = {
            key: value for key, value in self.settings.items() if key not in ("kind", "options")
        }
        own = self.settings.get("options", {})
        learner = self.cls(radius=task.ball.radius, random=task.random, **options, **own)
        weights, d = np.asarray(learner.fit(*task.sample.lists), float), task.sample.d
        if weights.shape != (d,) or not np.isfinite(weights).all():
            raise SettingError(f"{self.settings['kind']}: fit is to return {d} finite weights")
        return Fit(
            solve.Solution(weights, task.mean.evaluate(weights).value, np.nan, 0, "one's own")
        )


def made(settings: dict) -> Batch | Own:
    """A learner from a study's settings, completed with defaults."""
    if (cls := LEARNERS.get(settings["kind"])) is None:
        return Own(settings)
    return cls({setting.name: setting.absent for setting in cls.settings} | settings)


@dataclass
class Found:
    """What a learner found on a sample.

    row : the run file's row, still without what fresh queries tell
    weights, best : the learner's weights, and the best weights of its ball
    ascended : the weights where ascent found the largest gap, and the mean loss there; or None
    """

    row: dict
    weights: np.ndarray
    best: np.ndarray
    ascended: tuple[np.ndarray, float] | None = None


def run(job: dict, target, seeds: list[int], inputs: dict[str, list[str]]) -> None:
    """Write the run file of a job, with the columns of `SCHEMA`.

    job : study, study_seed, experiment, stream (the population's id), population (its settings),
        learners (pairs of id and settings), and the experiment's settings
    inputs : streams, the file of the stream that the population is made of, if it is

    Raises
    ------
    SettingError : n, m or d is beyond what the stream of the population has
    """
    paths = inputs.get("streams", [])
    stream = streams.read(paths[0]) if paths else None
    if stream is not None and max(job["n"]) > len(stream):
        raise SettingError(
            f"n is {max(job['n'])}, and {job['stream']} has {len(stream)} queries: lower n"
        )
    rows = []
    for d in job["d"] or [None]:
        population = _population(job, d, stream)
        setup = Setup(job, population, _population(job, population.informative, stream))
        best = {}
        for seed in seeds:
            rows += of_seed(setup, best, seed)
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    write_parquet(
        table, target, job | {"largest_grade": population.largest_grade} | origin(seeds, paths)
    )


def _population(job: dict, d: int | None, stream) -> Population:
    return populations.make(
        job["population"], generator(*_axes(job), "population"), d, max(job["m"]), stream
    )


def _axes(job: dict) -> tuple:
    """The names from which all randomness of a population is derived."""
    return job["study_seed"], "generalisation", job["population"].get("stands_for", job["stream"])


def of_seed(setup: Setup, best: dict, seed: int) -> list[dict]:
    """The rows of one seed and one number of features.

    best : the best weights found so far, by surrogate, ball and m; those found here are added
    """
    job, fits = setup.job, []
    features, grades = setup.population.draw(
        setup.random("sample", seed), max(job["n"]), max(job["m"])
    )
    for m in job["m"]:
        whole = solve.Sample(features[:, :m], grades[:, :m])
        ascents = Ascents(setup, m, seed) if job["ascents"] else None
        for n, (learner, settings) in product(job["n"], job["learners"]):
            fits.append(fit(setup, best, whole.first(n), learner, settings, seed, ascents))
    measure(setup, fits, seed)
    return [fitted.row for fitted in fits]


def fit(
    setup: Setup, best: dict, sample: solve.Sample, learner: str, settings: dict, seed: int, ascents
) -> Found:
    """Fit a learner to a sample, and find the best weights and the largest gap to compare it with.

    best : as in `of_seed`; changed
    ascents : None if the job searches for no largest gap
    """
    random = setup.random("learner", seed, sample.n, sample.m, sample.d)
    fitter, population = made(settings), setup.population
    surrogate, ball = fitter.surrogate, setup.ball(fitter.ball)
    if (key := (surrogate, ball.norm, sample.m)) not in best:
        best[key] = best_weights(setup, surrogate, ball, sample.m)
    mean, radius = (
        setup.mean(sample, surrogate),
        population.norm if ball.norm == "l2" else population.largest,
    )
    problem = theory.problem(
        surrogate,
        sample.m,
        sample.d,
        population.largest_grade,
        ball.radius,
        radius,
        setup.job["sigma"],
        best_risk=max(best[key].risk, 0.0),  # that of SmoothDCG is below 0
    )
    solution, rate, spread = fitter.fit(Task(setup, mean, ball, problem, random))
    row = {
        "learner": learner,
        "kind": settings["kind"],
        "surrogate": surrogate,
        "ball": ball.norm,
        "W": ball.radius,
        "R": radius,
        "seed": seed,
        "n": sample.n,
        "m": sample.m,
        "d": sample.d,
        "status": solution.status,
        "certificate": solution.gap,
        "passes": solution.passes,
        "spread": spread,
        "norm": ball.length(solution.weights),
        "rate": rate,
        "train": mean.evaluate(solution.weights).value,
        "best_error": best[key].error,
        "at_zero": best[key].at_zero,
        "worst": best[key].worst,
        "found": best[key].risk,
    }
    fitted = Found(row, solution.weights, best[key].weights)
    if ascents and fitter.minimises:
        fitted.ascended = ascents.largest(mean, ball, [solution.weights, best[key].weights])
    return fitted


def best_weights(setup: Setup, surrogate: str, ball: solve.Ball, m: int) -> Best:
    """The weights of least risk in a ball for lists of length m.

    If the population knows them, they are taken from it. Else they are found on a large sample of
    its own, from several starts if the surrogate is not convex. Features that grades do not depend
    on have no weight: they are symmetric and independent of all else, so that a convex risk is no
    larger without them. The error is estimated by the excess, on further queries, of weights found
    on half of the sample: errors of a minimum over N queries fall as 1/N, so that the half's are
    twice as large.
    """
    population = setup.population
    features, grades = setup.for_best
    sample = solve.Sample(features[:, :m], grades[:, :m])
    mean = setup.mean(sample, surrogate)
    if surrogate in population.best_for and ball.length(population.best) <= ball.radius * (
        1 + 1e-12
    ):
        return Best(population.best, *_losses(mean, ball, population.best), 0.0)
    starts = BEST_STARTS if surrogate == NOT_CONVEX else 1
    best, _ = solve.from_starts(mean, ball, starts, setup.random("best starts"))
    half = solve.minimise(setup.mean(sample.first(sample.n // 2), surrogate), best.weights, ball)
    features, grades = setup.for_check
    check = setup.mean(solve.Sample(features[:, :m], grades[:, :m]), surrogate)
    error = check.evaluate(half.weights).value - check.evaluate(best.weights).value
    losses = _losses(mean, ball, best.weights)
    return Best(np.r_[best.weights, np.zeros(population.d - sample.d)], *losses, error)


def _losses(mean: solve.Mean, ball: solve.Ball, weights: np.ndarray) -> tuple[float, float, float]:
    """The mean loss of weights, of weights 0, and of the opposite weights with the norm of the
    ball's radius.
    """
    length = ball.length(weights)
    opposite = -weights * (ball.radius / length if length else 1.0)
    return tuple(
        float(mean.evaluate(played).value) for played in (weights, np.zeros(len(weights)), opposite)
    )


class Ascents:
    """Searches for the weights in a ball where the risk is most above the mean loss of a sample.

    The risk is approximated by the mean loss of other queries than those that measure it in the
    end, so that what is found is a lower bound on the largest gap, up to the standard error of the
    fresh queries.
    """

    def __init__(self, setup: Setup, m: int, seed: int):
        self.setup, self.ascended = setup, {}
        self.random = setup.random("ascent", seed, m, setup.population.d)
        features, grades = setup.population.draw(
            setup.random("ascent sample", seed), setup.job["fresh"], max(setup.job["m"])
        )
        self.sample = solve.Sample(features[:, :m], grades[:, :m])

    def largest(
        self, mean: solve.Mean, ball: solve.Ball, starts: list[np.ndarray]
    ) -> tuple[np.ndarray, float]:
        """The weights with the largest gap that ascent finds, and the sample's mean loss there.
        Found once for each surrogate and ball.

        starts : the first weights to start from; if the job asks for more, the others are random
        """
        key = mean.surrogate, ball.norm, mean.sample.n
        if key not in self.ascended:
            count = self.setup.job["ascents"]
            starts = starts[:count] + [
                solve.random_weights(self.random, mean.sample.d, ball)
                for _ in range(count - len(starts))
            ]
            difference = solve.Difference(mean, self.setup.mean(self.sample, mean.surrogate))
            ends = [solve.minimise(difference, start, ball, **SEARCH) for start in starts]
            weights = min(ends, key=lambda end: end.value).weights
            self.ascended[key] = weights, mean.evaluate(weights).value
        return self.ascended[key]


def measure(setup: Setup, fits: list[Found], seed: int) -> None:
    """Add risk, excess risk and uniform gap, and their standard errors, to the rows of `fits`, in
    place. Fresh queries tell them.

    Fresh queries are drawn in chunks, since they need not all fit in memory.
    """
    job, random = setup.job, setup.random("fresh", seed)
    asked = {}  # each weights once, by where its losses are found
    for fitted in fits:
        ascended = [fitted.ascended[0]] if fitted.ascended else []
        for weights in (fitted.weights, fitted.best, *ascended):
            asked[_key(fitted, weights)] = weights
    size = max(1, min(job["fresh"], CHUNK // (max(job["m"]) * setup.population.d)))
    # of risk, best, excess and of the loss where ascent ended
    moments = np.zeros((len(fits), 4, 2))
    for start in range(0, job["fresh"], size):
        features, grades = setup.population.draw(
            random, min(size, job["fresh"] - start), max(job["m"])
        )
        samples = {m: solve.Sample(features[:, :m], grades[:, :m]) for m in job["m"]}
        losses = {
            key: setup.mean(samples[key[0]], key[1]).losses(weights)
            for key, weights in asked.items()
        }
        for fitted, sums in zip(fits, moments, strict=True):
            learnt, best = losses[_key(fitted, fitted.weights)], losses[_key(fitted, fitted.best)]
            values = [learnt, best, learnt - best]
            values += [losses[_key(fitted, fitted.ascended[0])]] if fitted.ascended else []
            for i, of_queries in enumerate(values):
                sums[i] += of_queries.sum(), np.square(of_queries).sum()
    means = moments[..., 0] / job["fresh"]
    errors = np.sqrt(np.maximum(moments[..., 1] / job["fresh"] - means**2, 0) / (job["fresh"] - 1))
    for fitted, mean, error in zip(fits, means, errors, strict=True):
        fitted.row |= {
            "risk": mean[0],
            "risk_error": error[0],
            "best": mean[1],
            "excess": mean[2],
            "excess_error": error[2],
            "uniform": mean[3] - fitted.ascended[1] if fitted.ascended else np.nan,
            "uniform_error": error[3] if fitted.ascended else np.nan,
        }


def _key(fitted: Found, weights: np.ndarray) -> tuple:
    # An array that several fits share is measured once; as all are kept, no id is used again.
    return fitted.row["m"], fitted.row["surrogate"], id(weights)
