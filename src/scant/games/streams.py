"""Simulated streams of games on fixed items: the relevance of each item in each round.

A stream is a matrix with a row for each round and a column for each item, int8 (int16 where int8 is
too small). The adversary is oblivious: the whole stream is drawn before the game. Which items are
the good ones is drawn too, so that their order does not give them away. `STREAMS` lists the
functions that draw streams; each takes a random generator, the number of rounds, and its settings
by name; `hard` also takes the loss of the game. With equal generators, a shorter stream is the
beginning of a longer one, except for `switching` and `hard`, which depend on the number of rounds.
"""

from collections.abc import Mapping
from inspect import signature

import numpy as np

from scant.data import table_b1
from scant.errors import SettingError
from scant.games import cells
from scant.games import hard as hard_pairs

CHUNK = 1 << 20  # numbers drawn at a time: bounds memory, and does not change the numbers
VECTORS = np.array(table_b1.VECTORS, np.int8)
FIRST, SECOND = (np.array(table_b1.TWENTIETHS[name]) / 20 for name in ("first", "second"))

RULES = {  # what the settings mean, and their limits, see `scant.declare.families.Place`
    "items": ("m, how many items.", {"minimum": 1, "maximum": 100_000}),
    "relevant": ("How many of them are relevant.", {"minimum": 1}),
    "probability": ("With which a relevance flips, or is redrawn.", {"minimum": 0, "maximum": 1}),
    "noise": ("The standard deviation of Gaussian noise.", {"minimum": 0}),
    "grades": ("The highest grade.", {"minimum": 1, "maximum": 15}),
    "distribution": ("Which distribution of Table B.1.", {"enum": ["first", "second", "either"]}),
    "choices": ("How many items are chosen in a round.", {"minimum": 1}),
    "exponent": ("The exponent of Zipf's law.", {"minimum": 0}),
    "k": ("How many items on top are seen, for hard relevances.", {"minimum": 1}),
    "gap": (
        "How hard relevances are: whether the gap between the two best rankings falls with the "
        "horizon, or is as wide as it can be, or one of these for each stream.",
        {"enum": ["falling", "wide", "either"]},
    ),
}


def flip(random, rounds: int, items: int = 20, relevant: int = 5, probability: float = 0.1):
    """One true binary vector; in each round, each of its entries is flipped with `probability`
    (thesis 3.4.1).

    The thesis does not give the probability.
    """
    _check_count("relevant", relevant, items)
    truth = _subset(random, items, relevant)
    return _rows(rounds, items, lambda n: truth ^ (random.random((n, items)) < probability))


def gauss(random, rounds: int, items: int = 10, relevant: int = 5, noise: float = 0.25):
    """One true binary vector plus Gaussian noise of standard deviation `noise`, cut at 1/2
    (AISTATS'15, section 10).

    The paper does not give the deviation.
    """
    _check_count("relevant", relevant, items)
    truth = _subset(random, items, relevant)
    return _rows(rounds, items, lambda n: truth + noise * random.standard_normal((n, items)) > 0.5)


def bernoulli(random, rounds: int, items: int = 20, relevant: int = 10):
    """In each round, `relevant` of the items are relevant with probability 0.7, the others with
    0.2.

    The probabilities come from the code that the author of the thesis released.
    """
    _check_count("relevant", relevant, items)
    chances = np.where(_subset(random, items, relevant), 0.7, 0.2)
    return _rows(rounds, items, lambda n: random.random((n, items)) < chances)


def graded(random, rounds: int, items: int = 20, grades: int = 4, probability: float = 0.1):
    """One true vector of grades 0..grades, drawn uniformly; in each round, each grade is redrawn
    with `probability`.
    """
    truth = random.integers(0, grades + 1, items)

    def draw(n):
        x = random.random((n, items)) / probability if probability else np.ones((n, items))
        # where x < 1, it is uniform on [0, 1)
        return np.where(x < 1, np.floor(x * (grades + 1)), truth)

    return _rows(rounds, items, draw)


def switching(random, rounds: int, items: int = 20, relevant: int = 5, probability: float = 0.1):
    """`flip` with a new true vector in each quarter of the rounds."""
    if rounds < 4:
        raise SettingError(f"stream 'switching': rounds is {rounds}; four quarters take 4 or more")
    ends = np.arange(1, 5) * rounds // 4
    return np.concatenate(
        [
            flip(random, int(length), items, relevant, probability)
            for length in np.diff(ends, prepend=0)
        ]
    )


def ties(random, rounds: int, items: int = 20):
    """The second half of the items and the first half are relevant in turn, so that sums tie after
    every other round.

    A learner that follows the leader without noise, and breaks ties by index, ranks the wrong half
    on top in every round, while any fixed ranking is right as often as wrong. Nothing is random.
    """
    second_half = np.arange(items) >= items // 2
    return np.where(np.arange(rounds)[:, None] % 2 == 0, second_half, ~second_half).astype(np.int8)


def indistinguishable(random, rounds: int, distribution: str = "either"):
    """Three items whose relevances are drawn in each round from a distribution of the thesis's
    Table B.1.

    distribution : "first" or "second"; or "either", one of the two for the whole stream, each with
        probability 1/2 (as the proof of linear regret needs)
    """
    chances = {"first": FIRST, "second": SECOND}
    if distribution == "either":
        distribution = ("first", "second")[int(random.random() < 0.5)]
    edges = np.cumsum(chances[distribution])
    edges[-1] = 1.0  # rounding may leave it below, and a number drawn between
    return _rows(
        rounds, 3, lambda n: VECTORS[np.searchsorted(edges, random.random(n), side="right")]
    )


def uniform(random, rounds: int, items: int = 20, choices: int = 1):
    """In each round, `choices` items are drawn uniformly: the adversary of the lower bound (Ailon,
    section 7).
    """
    return _chosen(random, rounds, np.zeros(items), choices)


def zipf(random, rounds: int, items: int = 20, exponent: float = 1.0):
    """In each round, one item is drawn, the i-th most popular with a probability proportional to
    i^-exponent.
    """
    return _chosen(random, rounds, _popularity(random, items, exponent), 1)


def k_choice(random, rounds: int, items: int = 20, choices: int = 5, exponent: float = 1.0):
    """In each round, `choices` items are drawn one after another as in `zipf`, without
    replacement.
    """
    return _chosen(random, rounds, _popularity(random, items, exponent), choices)


def rankings(random, rounds: int, items: int = 20):
    """Random rankings for Spearman's loss: the positions, from 1, of the items in each round's
    ranking.

    They follow a Plackett-Luce model around a central ranking, in which each place further down
    lowers an item's log-weight by 0.2.
    """
    utilities = -0.2 * random.permutation(items)

    def draw(n):
        noisy = utilities - np.log(random.standard_exponential((n, items)))
        return np.argsort(np.argsort(-noisy, axis=1, kind="stable"), axis=1) + 1

    return _rows(rounds, items, draw, np.int8 if items <= 127 else np.int16)


def hard(
    random,
    rounds: int,
    loss: str,
    items: int = 3,
    k: int = 1,
    grades: int = 1,
    gap: str = "falling",
):
    """Relevances that are hard for the cell of the atlas with this loss, `items` and the top `k`
    seen.

    They are drawn from one of two distributions, each with probability 1/2, which a learner must
    tell apart to be best; the items are relabelled at random. `scant.games.hard` says which.

    grades : the highest grade
    gap : the gap between the two best rankings. "falling": the largest up to T = 100 rounds, then
        falling with T as in the lower bound: as T^(-1/3) where the rate is T^(2/3), as T^(-1/2)
        where it is T^(1/2), and not at all where the cell is not observable. "wide": the largest
        for all T. "either": one of the two for the whole stream, each with probability 1/2
    """
    cell = cells.cell(loss, items, k, grades)
    pair, labels, sign = (
        hard_pairs.pair(cell),
        random.permutation(items),
        1 - 2 * random.integers(0, 2),
    )
    falls = gap == "falling" or (gap == "either" and random.random() < 0.5)
    width = hard_pairs.width(cell, rounds, 100) if falls else 1.0
    edges = np.cumsum(pair.middle + sign * width * pair.direction)
    vectors = cell.relevances[:, labels]
    return _rows(rounds, items, lambda n: vectors[_index_in(edges, random.random(n))])


FORESEEN = ("switching", "ties")  # rounds differ in other ways than by draws from one distribution
STREAMS = {
    "flip": flip,
    "gauss": gauss,
    "bernoulli": bernoulli,
    "graded": graded,
    "switching": switching,
    "ties": ties,
    "indistinguishable": indistinguishable,
    "uniform": uniform,
    "zipf": zipf,
    "k-choice": k_choice,
    "rankings": rankings,
    "hard": hard,
}
CERTAIN = ("ties",)  # streams that are the same in every draw


def draw(
    name: str, random: np.random.Generator, rounds: int, /, loss: str = "sum-loss", **settings
) -> np.ndarray:
    """Draw the stream `name`: relevances, int8 or int16 (rounds x items).

    loss : of the game, for streams that depend on it

    Raises
    ------
    SettingError : more items are to be relevant, or chosen, than there are
    """
    of_game = {"loss": loss} if name == "hard" else {}
    return STREAMS[name](random, rounds, **of_game, **settings)


def choices(name: str, settings: Mapping) -> int:
    """How many items a stream chooses in each round; 1 if it has no such setting.

    name : the stream's
    """
    return _setting(name, settings, "choices")


def grades(name: str, settings: Mapping) -> int:
    """How many grades a stream of relevances has, counting 0; 2 if it has no such setting."""
    return 1 + _setting(name, settings, "grades")


def _setting(name: str, settings: Mapping, key: str) -> int:
    """A setting of the stream `name`, or its default; 1 if it has no such setting."""
    declared = signature(STREAMS[name]).parameters.get(key)
    return settings.get(key, declared.default if declared else 1)


def _rows(rounds: int, items: int, draw, dtype=np.int8) -> np.ndarray:
    """A matrix of `rounds` rows; `draw(n)` draws the next n of them, (n x items)."""
    rows = np.empty((rounds, items), dtype)
    at_once = max(1, CHUNK // items)
    for start in range(0, rounds, at_once):
        stop = min(rounds, start + at_once)
        rows[start:stop] = draw(stop - start)
    return rows


def _chosen(random, rounds: int, utilities: np.ndarray, choices: int) -> np.ndarray:
    """A matrix with ones, in each row, at the `choices` items of largest utility plus Gumbel noise.

    This draws items without replacement, with probabilities proportional to the exponentials of
    their utilities.
    """
    items = len(utilities)
    _check_count("choices", choices, items)

    def draw(n):
        chosen = np.zeros((n, items), np.int8)
        if choices == 1:  # one number a round
            edges = np.cumsum(np.exp(utilities - utilities.max()))
            np.put_along_axis(chosen, _index_in(edges, random.random(n))[:, None], 1, axis=1)
        else:
            noisy = np.log(random.standard_exponential((n, items))) - utilities
            np.put_along_axis(
                chosen, np.argpartition(noisy, choices - 1, axis=1)[:, :choices], 1, axis=1
            )
        return chosen

    return _rows(rounds, items, draw)


def _index_in(edges: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Indices drawn by uniform numbers `u` (n) from a distribution with these cumulative weights;
    int64 (n).
    """
    # The product may round up to the last edge, beyond which there is no index.
    return np.minimum(np.searchsorted(edges, u * edges[-1], side="right"), len(edges) - 1)


def _subset(random, items: int, count: int) -> np.ndarray:
    """A vector, bool (items), that is true at `count` items drawn at random."""
    return random.permutation(items) < count


def _popularity(random, items: int, exponent: float) -> np.ndarray:
    """The log-weights of items whose ranks by popularity are random, float64 (items)."""
    return -exponent * np.log(random.permutation(items) + 1.0)


def _check_count(name: str, value: int, items: int) -> None:
    """Raise a SettingError for a number of items that is not from 1 to all."""
    if not 1 <= value <= items:
        raise SettingError(f"{name} is {value}; with {items} items it must be from 1 to {items}")
