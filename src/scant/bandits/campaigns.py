"""Simulated campaigns with the impressions and click rates of the thesis's Table 5.2, whose logs
are proprietary.

A user is a vector of features, some normal, some 0 or 1. Only a few of them matter. A user clicks
on offer a with probability sigmoid(b_a + f_a(x)), where f_a is a random function of the features
that matter. The campaign's own ("targeted") policy shows offer a with probability floor + (1 - K
floor) softmax(s(x) + c)_a, where s is an imperfect view of f. The offsets c and b are set so that,
in expectation over users, the targeted policy gives each offer the impressions and the click rate
of the table. Expectations are averages over a quasi-random sample (Sobol, 2^20 points) of the
features that matter. At the default settings they differ from averages over an independent sample
by less than 1e-3, relative to their size.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache, reduce
from itertools import chain

import numpy as np

from scant import files
from scant.data.logs import Log
from scant.errors import SettingError, check_name
from scant.randomness import generator

POINTS = 1 << 20  # users over whom offsets and intercepts are calibrated
CHUNK = 1 << 16  # rows in work at a time, which bounds memory
DIMENSIONS = 10_000  # features of a user; the features of a chunk of users take 2.6 GB
ROWS = 1 << 13  # rows of a softmax in work at a time, so that they stay in the cache
SHAPES = ("linear", "tree", "bumps")
DISTRACTORS = 3  # features that sway the targeted policy although they do not matter to clicks
WIDTH = 0.7  # of a bump

# Impressions and click rates (%) of the offers. Hotel and bank 1: thesis, Table 5.2. The thesis
# says of bank 2 only that it is like bank 1: its numbers are made up.
CAMPAIGNS = {
    "hotel": ((36164, 37944, 30871, 32765, 20719), (8.1, 8.2, 7.8, 7.7, 5.5)),
    "bank-1": ((37750, 38254, 182191, 168789, 17291), (0.17, 0.40, 0.45, 0.30, 0.23)),
    "bank-2": ((45318, 31876, 171402, 154967, 24083), (0.21, 0.36, 0.41, 0.33, 0.19)),
}


@dataclass(frozen=True)
class Settings:
    """The settings of a campaign, with their defaults; `RULES` says what they mean."""

    dimensions: int = 30
    informative: int = 6
    strength: float = 1.0
    common: float = 0.5
    shape: str = "linear"
    quality: float = 0.5
    sharpness: float = 0.7
    floor: float = 0.01
    scale: float = 1.0
    share: float = 1.0
    world: int = 0


# What settings mean, and their limits, see `scant.declare.families.Place`; `check` has limits that
# depend on others.
RULES = {
    "dimensions": (
        "Features of a user; the last third are 0 or 1.",
        {"minimum": 3, "maximum": DIMENSIONS},
    ),
    "informative": ("How many of them matter.", {"minimum": 2}),
    "strength": (
        "How far users differ, the standard deviation of f in log-odds.",
        {"exclusiveMinimum": 0},
    ),
    "common": (
        "What share of the difference is common to all offers, in variance.",
        {"minimum": 0, "exclusiveMaximum": 1},
    ),
    "shape": (
        (
            "What clicks depend on features by: f is linear, boxes on pairs of features, or bumps "
            "on pairs."
        ),
        {"enum": list(SHAPES)},
    ),
    "quality": (
        "How well the targeted policy knows users: the correlation of its scores with f.",
        {"minimum": -1, "maximum": 1},
    ),
    "sharpness": ("How far its scores differ, a standard deviation in log-odds.", {"minimum": 0}),
    "floor": ("Its least propensity.", {"exclusiveMinimum": 0}),
    "scale": ("What click rates are multiplied by.", {"exclusiveMinimum": 0}),
    "share": (
        "The share of the table's impressions that a log has.",
        {"exclusiveMinimum": 0, "maximum": 100},
    ),
    "world": (
        "The seed of what the campaign is; two campaigns differ also with the same seed.",
        {"minimum": 0, "maximum": 2**63 - 1},
    ),
}
SIMULATIONS = dict.fromkeys(CAMPAIGNS, Settings)


@dataclass(frozen=True)
class Campaign:
    """A campaign: its users, what they click on, and its own policy. `make` makes one."""

    name: str
    settings: Settings
    rows: int  # of a log with the impressions of the table, times the setting `share`
    shares: np.ndarray  # (K) share of impressions under the targeted policy
    click_rates: np.ndarray  # (K) under the targeted policy
    thresholds: np.ndarray  # (dimensions) of the features that are 0 or 1; NaN for the normal ones
    pieces: "Pieces"
    weights: np.ndarray  # (pieces x K) weights of the pieces in f
    intercepts: np.ndarray  # (K) b

    # (dimensions x K) weights of the features in the targeted policy's scores, besides f
    view: np.ndarray
    offsets: np.ndarray  # (K) c

    @property
    def actions(self) -> tuple[str, ...]:
        """The offers' ids, "1" to "K"."""
        return tuple(str(offer + 1) for offer in range(len(self.shares)))

    @property
    def names(self) -> tuple[str, ...]:
        """The features' names, "x1" and so on."""
        return tuple(f"x{number + 1}" for number in range(self.settings.dimensions))

    def users(self, rows: int, random: np.random.Generator) -> np.ndarray:
        """Features of random users, float32 (rows x dimensions)."""
        return _features(
            random.standard_normal((rows, self.settings.dimensions), np.float32), self.thresholds
        )

    def rates(self, features: np.ndarray) -> np.ndarray:
        """Probability that each user clicks on each offer, float64 (rows x K)."""
        return _sigmoid(self.pieces(features) @ self.weights + self.intercepts)

    def propensities(self, features: np.ndarray, policy: str = "targeted") -> np.ndarray:
        """Probability that a policy of the campaign shows each user each offer, float64 (rows x
        K).
        """
        count = len(self.shares)
        if policy == "uniform":
            return np.full((len(features), count), 1 / count)
        scores = (
            self.pieces(features) @ self.weights * _weight_of_f(self.settings)
            + features @ self.view
        )
        return _floored(scores + self.offsets, self.settings.floor)

    def oracle(self, features: np.ndarray) -> np.ndarray:
        """The offer that each user is most likely to click on, int32 (rows)."""
        return self.rates(features).argmax(axis=1).astype(np.int32)

    def log(self, rows: int, random: np.random.Generator, policy: str = "targeted") -> Log:
        """A log of `rows` independent visits under a policy of the campaign, "targeted" or
        "uniform".
        """
        if rows < 1:
            raise SettingError(f"campaign {self.name!r}: rows is {rows}; a log has 1 or more")
        parts = []
        for start in range(0, rows, CHUNK):
            features = self.users(min(CHUNK, rows - start), random)
            propensities = self.propensities(features, policy)
            edges = propensities.cumsum(axis=1)
            # the last edge is 1, but for rounding
            u = random.random(len(features))[:, None] * edges[:, -1:]
            action = np.minimum((u >= edges).sum(axis=1), len(self.shares) - 1)
            cells = np.arange(len(features)), action
            clicked = random.random(len(features)) < self.rates(features)[cells]
            parts.append(
                (features, action.astype(np.int32), clicked.astype(np.float64), propensities[cells])
            )
        return Log(*map(np.concatenate, zip(*parts, strict=True)), self.actions, self.names)


@dataclass(frozen=True)
class Pieces:
    """The basis functions of the features; f is a weighted sum of them."""

    shape: str
    first: np.ndarray  # (pieces) index of the first feature that a piece depends on
    second: np.ndarray  # (pieces) index of the second one, which linear pieces ignore
    centre: np.ndarray  # (pieces x 2) corner of the box, or centre of the bump

    def __call__(self, features: np.ndarray) -> np.ndarray:
        """The pieces' values, float64 (rows x pieces)."""
        x = features[:, self.first].astype(np.float64)
        if self.shape == "linear":
            return x
        y = features[:, self.second].astype(np.float64)
        if self.shape == "tree":
            return ((x > self.centre[:, 0]) & (y > self.centre[:, 1])).astype(np.float64)
        return np.exp(
            -((x - self.centre[:, 0]) ** 2 + (y - self.centre[:, 1]) ** 2) / (2 * WIDTH**2)
        )


def make(name: str, **settings) -> Campaign:
    """Make the campaign `name` of `CAMPAIGNS`; equal settings make the same campaign on every
    machine.

    settings : fields of `Settings`; the others have their defaults
    """
    check(name, settings)
    return _make(name, Settings(**settings))


def check(name: str, settings: Mapping) -> None:
    """Raise a SettingError for an unknown campaign, or for settings that do not fit its table or
    each other; each by itself fits its rule.
    """
    check_name("campaign", name, CAMPAIGNS)
    chosen, (impressions, rates) = Settings(**settings), _table(name)
    largest = 1 / rates.max()
    rarest = (impressions / impressions.sum()).min()
    for key, valid, requirement in (
        (
            "informative",
            chosen.informative <= chosen.dimensions,
            "from 2 to the number of dimensions",
        ),
        (
            "floor",
            chosen.floor < rarest,
            f"above 0 and below the least share of impressions, {rarest:.3g}",
        ),
        (
            "scale",
            chosen.scale < largest,
            f"above 0 and below {largest:.3g}, where an offer is always clicked",
        ),
        ("share", round(chosen.share * impressions.sum()) >= 1, "so large that a log has a row"),
    ):
        if not valid:
            raise SettingError(
                f"campaign {name!r}: {key} is {getattr(chosen, key)}; it must be {requirement}"
            )


def save(campaign: Campaign, path) -> None:
    """Write a campaign as JSON, numbers in full precision, and seal the file."""
    files.write_sealed(path, asdict(campaign))


def load(path) -> Campaign:
    """Read the campaign that `save` wrote."""
    with files.foreign(path, "campaign of this project", files.anew(path)):
        content = files.read_sealed(path)
        parts = {
            "settings": Settings(**content.pop("settings")),
            "pieces": Pieces(**_arrays(content.pop("pieces"))),
        }
        return Campaign(**_arrays(content), **parts)


def _arrays(content: Mapping) -> dict:
    """The content of a campaign's file with arrays in place of lists, and without the seal."""
    return {
        name: np.array(value) if isinstance(value, list) else value
        for name, value in content.items()
        if name != files.SEAL
    }


def true_ctrs(
    campaign: Campaign, policies: list[Callable], draws: int, random: np.random.Generator
) -> list[tuple[float, float]]:
    """The true click rate of each policy, and its standard error.

    It averages the probability of a click given the features over random users, the same for all
    policies. Neither the offer shown nor the click is drawn, so that they add no noise. The
    standard error is the deviation of that probability over sqrt(draws): with 2^22 draws about 5e-4
    of the rate.

    Parameters
    ----------
    campaign : the campaign
    policies : each takes features (rows x dimensions) and returns a `policies.Choice`, or another
        object with a `probability(action)`
    draws : number of users, 2 or more
    random : the generator that draws them
    """
    total, square = np.zeros((2, len(policies)))
    # near the average: sums of squares about it stay precise
    middle = float(campaign.shares @ campaign.click_rates)
    for start in range(0, draws, CHUNK):
        features = campaign.users(min(CHUNK, draws - start), random)
        rates = campaign.rates(features)
        for number, choose in enumerate(policies):
            choice, value = choose(features), -middle * np.ones(len(features))
            for action in range(rates.shape[1]):
                value += (
                    choice.probability(np.full(len(features), action, np.int32)) * rates[:, action]
                )
            total[number] += value.sum()
            square[number] += value @ value
    variance = (square - total**2 / draws) / (draws - 1)
    return list(
        zip(
            (middle + total / draws).tolist(),
            np.sqrt(np.maximum(variance, 0) / draws).tolist(),
            strict=True,
        )
    )


# How a campaign is made


def _table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Impressions and click rates of the offers of a campaign in Table 5.2, float64 (K) each."""
    impressions, percentages = CAMPAIGNS[name]
    return np.array(impressions, np.float64), np.array(percentages) / 100


@lru_cache(maxsize=16)
def _make(name: str, settings: Settings) -> Campaign:
    impressions, rates = _table(name)
    shares, rates, count = impressions / impressions.sum(), settings.scale * rates, len(rates)
    random = generator(settings.world, "campaign", name)
    thresholds = np.full(settings.dimensions, np.nan)
    binary = settings.dimensions // 3
    thresholds[settings.dimensions - binary :] = np.linspace(-1, 1.5, binary)
    order = random.permutation(settings.dimensions)
    used = order[: settings.informative + DISTRACTORS]
    pieces = _pieces(settings, order[: settings.informative], thresholds, random)
    view = np.zeros((settings.dimensions, count))
    view[used] = random.standard_normal((len(used), count))
    drawn = random.standard_normal((len(pieces.first), count + 1))

    # the same for all campaigns, so that a bad draw would show in all
    random = generator(0, "campaign", "points")
    blocks = _points(settings.dimensions, used, thresholds, random)
    points = next(blocks)  # enough for variances, which need not be exact
    covariance = np.cov(pieces(points), rowvar=False)
    drawn = _scaled(drawn, covariance)
    mixed = np.sqrt(settings.common) * drawn[:, -1:] + np.sqrt(1 - settings.common) * drawn[:, :-1]
    weights = settings.strength * _scaled(mixed, covariance)
    scale_of_view = settings.sharpness * np.sqrt(1 - settings.quality**2)
    centred = pieces(points) @ weights
    covariances = points.T @ (centred - centred.mean(axis=0))  # of features and f, up to a factor
    view = view - covariances * (view * covariances).sum(axis=0) / (covariances**2).sum(
        axis=0
    )  # so that `quality` is the correlation
    view = scale_of_view * _scaled(view, np.diag(points.var(axis=0, dtype=np.float64)))

    f, scores = np.empty((2, POINTS, count))
    for start, users in zip(range(0, POINTS, CHUNK), chain([points], blocks), strict=False):
        chunk = slice(start, start + CHUNK)
        f[chunk] = pieces(users) @ weights
        scores[chunk] = f[chunk] * _weight_of_f(settings) + users @ view
    offsets = _offsets(scores, shares, settings.floor)
    propensities = _floored(scores + offsets, settings.floor)
    intercepts = _intercepts(f, propensities, rates)
    rows = round(settings.share * impressions.sum())
    return Campaign(
        name, settings, rows, shares, rates, thresholds, pieces, weights, intercepts, view, offsets
    )


def _weight_of_f(settings: Settings) -> float:
    """The weight of f in the targeted policy's scores."""
    return settings.sharpness * settings.quality / settings.strength


def _pieces(settings: Settings, informative: np.ndarray, thresholds: np.ndarray, random) -> Pieces:
    """The pieces of a campaign: one for each informative feature (linear), else one for each pair
    of neighbours in their random order.
    """
    if settings.shape == "linear":
        return Pieces("linear", informative, informative, np.zeros((len(informative), 2)))
    distances = [1, 2] if len(informative) > 2 else [1]
    first = np.concatenate([informative for _ in distances])
    second = np.concatenate([np.roll(informative, -distance) for distance in distances])
    centre = random.normal(0, 0.5, (len(first), 2))
    pairs = np.stack([first, second], axis=1)
    centre = np.where(np.isnan(thresholds[pairs]), centre, 0.5 if settings.shape == "tree" else 1.0)
    return Pieces(settings.shape, first, second, centre)


def _points(
    dimensions: int, used: np.ndarray, thresholds: np.ndarray, random
) -> Iterator[np.ndarray]:
    """Chunks of quasi-random users: Sobol points, shifted digitally, in the features `used`; 0 in
    the others.
    """
    from scipy.special import ndtri
    from scipy.stats import qmc

    # scipy's own scrambling differs between its versions
    sobol = qmc.Sobol(len(used), scramble=False)
    shift = random.integers(0, 1 << 32, len(used), dtype=np.uint64)
    while True:
        digits = (sobol.random(CHUNK) * 2**32).astype(np.uint64) ^ shift
        users = np.zeros((CHUNK, dimensions), np.float32)
        users[:, used] = _features(ndtri((digits + 0.5) / 2**32), thresholds[used])
        yield users


def _features(normal: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Users' features from normal numbers, float32: those with a threshold become 1 above it, else
    0.
    """
    features = normal.astype(np.float32, copy=False)
    binary = np.flatnonzero(~np.isnan(thresholds))
    features[:, binary] = features[:, binary] > thresholds[binary]
    return features


def _scaled(weights: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Weights (pieces x K) scaled so that each column's weighted sum of the pieces has variance
    1.
    """
    return weights / np.sqrt(np.einsum("ia,ij,ja->a", weights, covariance, weights))


def _sigmoid(x: np.ndarray) -> np.ndarray:
    from scipy.special import expit

    return expit(x)


def _floored(scores: np.ndarray, floor: float) -> np.ndarray:
    """Propensities, float64 (rows x K): floor + (1 - K floor) softmax of each row of scores."""
    return floor + (1 - scores.shape[1] * floor) * _softmax(scores)


def _softmax(scores: np.ndarray) -> np.ndarray:
    shares = np.empty_like(scores)
    for start in range(0, len(scores), ROWS):
        part = scores[start : start + ROWS]
        # by columns: NumPy is slow along short rows
        exponentials = np.exp(part - reduce(np.maximum, part.T)[:, None])
        np.divide(exponentials, sum(exponentials.T)[:, None], out=shares[start : start + ROWS])
    return shares


def _offsets(scores: np.ndarray, shares: np.ndarray, floor: float) -> np.ndarray:
    """The offsets c (K) at which `_floored(scores + c)` averages to `shares`, by Newton's
    method.
    """
    target = (shares - floor) / (1 - len(shares) * floor)
    offsets = np.log(target)
    for _ in range(50):
        propensities = _softmax(scores + offsets)
        missing = target - propensities.mean(axis=0)
        if np.abs(missing).max() < 1e-13:
            return offsets
        slope = np.diag(propensities.mean(axis=0)) - propensities.T @ propensities / len(
            propensities
        )
        try:  # the last offset stays: adding a constant to all of c changes nothing
            step = np.append(np.linalg.solve(slope[:-1, :-1], missing[:-1]), 0)
        except np.linalg.LinAlgError:
            break
        offsets = offsets + np.clip(step, -2, 2)
    raise SettingError(
        "no targeted policy with these impressions was found; lower the sharpness or the floor"
    )


def _intercepts(f: np.ndarray, propensities: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """The intercepts b (K) at which the averages of sigmoid(b + f), weighted by `propensities`, are
    `rates`.

    Newton's method on the logs of the averages, which for small rates are nearly linear in b.
    """
    weights = propensities / propensities.sum(axis=0)
    intercepts = np.log(rates)
    for _ in range(100):
        clicked = _sigmoid(f + intercepts)
        average = np.einsum("na,na->a", weights, clicked)
        missing = np.log(rates / average)
        if np.abs(missing).max() < 1e-12:
            return intercepts
        slope = 1 - np.einsum("na,na,na->a", weights, clicked, clicked) / average
        intercepts = intercepts + np.clip(missing / slope, -2, 2)
    raise SettingError("no click rates as asked for were found; lower the strength or the scale")
