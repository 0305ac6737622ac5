"""Simulated streams of games on fixed items: what the items are worth in each round.

A stream is a matrix with a row for each round and a column for each item: whole numbers as int8 (int16 where int8
does not hold them). The adversary is oblivious: the whole sequence is drawn before the game. Which items are the good
ones is drawn, too, so that no order of the items gives it away. `STREAMS` names the functions; each takes a random
generator, the number of rounds, and its settings by name. A longer stream from an equal generator goes on where a
shorter one ends, but for `switching`, whose phases are shares of the rounds.
"""

import numpy as np

from scant.data import table_b1
from scant.errors import SettingError, unknown

CHUNK = 1 << 20  # numbers drawn at a time, which bounds memory and changes none of them
VECTORS = np.array(table_b1.VECTORS, np.int8)
FIRST, SECOND = (np.array(table_b1.TWENTIETHS[name]) / 20 for name in ("first", "second"))


def flip(random, rounds: int, items: int = 20, relevant: int = 5, probability: float = 0.1):
    """One true binary vector, each of its grades flipped with a probability in each round (thesis 3.4.1).

    The thesis does not give the probability.
    """
    _at_most("relevant", relevant, items)
    truth = _some(random, items, relevant)
    return _rows(rounds, items, lambda n: truth ^ (random.random((n, items)) < _part("probability", probability)))


def gauss(random, rounds: int, items: int = 10, relevant: int = 5, noise: float = 0.25):
    """One true binary vector plus Gaussian noise of standard deviation `noise`, cut at 1/2 (AISTATS'15, section 10).

    The paper does not give the deviation.
    """
    _at_most("relevant", relevant, items)
    truth = _some(random, items, relevant)
    return _rows(rounds, items, lambda n: truth + noise * random.standard_normal((n, items)) > 0.5)


def bernoulli(random, rounds: int, items: int = 20, relevant: int = 10, high: float = 0.7, low: float = 0.2):
    """`relevant` items are relevant with probability `high` in each round, the others with `low`.

    The defaults are those of the thesis author's released code.
    """
    _at_most("relevant", relevant, items)
    chances = np.where(_some(random, items, relevant), _part("high", high), _part("low", low))
    return _rows(rounds, items, lambda n: random.random((n, items)) < chances)


def graded(random, rounds: int, items: int = 20, grades: int = 4, probability: float = 0.1):
    """One true vector of grades 0..grades, drawn uniformly; each grade is redrawn with a probability in each round."""
    if not 1 <= grades <= 15:
        raise SettingError(f"stream 'graded': grades is {grades}; it must be from 1 to 15")
    truth = random.integers(0, grades + 1, items)

    def draw(n):
        x = random.random((n, items)) / _part("probability", probability) if probability else np.ones((n, items))
        return np.where(x < 1, np.floor(x * (grades + 1)), truth)  # given that x < 1, x is uniform on [0, 1)

    return _rows(rounds, items, draw)


def switching(
    random, rounds: int, items: int = 20, relevant: int = 5, probability: float = 0.1, phases: int = 4
):  # fmt: skip
    """As `flip`, but in each of some phases of equal length another vector is the true one."""
    _at_most("relevant", relevant, items)
    if not 1 <= phases <= rounds:
        raise SettingError(
            f"stream 'switching': phases is {phases}; with {rounds} rounds it must be from 1 to {rounds}"
        )
    ends = np.arange(1, phases + 1) * rounds // phases
    return np.concatenate(
        [flip(random, int(length), items, relevant, probability) for length in np.diff(ends, prepend=0)]
    )


def ties(random, rounds: int, items: int = 20):
    """The second half of the items and the first are relevant in turn, so that sums tie after every other round.

    Whoever follows the leader without noise, ties by index, puts the wrong half on top in every round, while any fixed
    ranking is right as often as wrong. Nothing is drawn.
    """
    late = np.arange(items) >= items // 2
    return np.where(np.arange(rounds)[:, None] % 2 == 0, late, ~late).astype(np.int8)


def indistinguishable(random, rounds: int, distribution: str = "either"):
    """Three items, whose relevances follow a distribution of the thesis's Table B.1 in each round.

    distribution : "first", "second"; "either", one of the two for the whole stream, with equal chances (what the proof
        of linear regret needs); or "mixture", one of the two afresh in each round
    """
    chances = {"first": FIRST, "second": SECOND, "mixture": (FIRST + SECOND) / 2}
    if distribution == "either":
        distribution = ("first", "second")[int(random.random() < 0.5)]
    if distribution not in chances:
        raise unknown("distribution of stream 'indistinguishable'", distribution, [*chances, "either"])
    edges = np.cumsum(chances[distribution])
    edges[-1] = 1.0
    return _rows(rounds, 3, lambda n: VECTORS[np.searchsorted(edges, random.random(n), side="right")])


def uniform(random, rounds: int, items: int = 20, choices: int = 1):
    """`choices` items, drawn uniformly, are chosen in each round: the lower bound's adversary (Ailon, section 7)."""
    return _chosen(random, rounds, np.zeros(items), choices)


def zipf(random, rounds: int, items: int = 20, exponent: float = 1.0):
    """One item is chosen in each round, the i-th most popular with a probability in proportion to i^-exponent."""
    return _chosen(random, rounds, _popularity(random, items, exponent), 1)


def k_choice(random, rounds: int, items: int = 20, choices: int = 5, exponent: float = 1.0):
    """`choices` items are chosen in each round, one after another without replacement, as in `zipf`."""
    return _chosen(random, rounds, _popularity(random, items, exponent), choices)


def rankings(random, rounds: int, items: int = 20, dispersion: float = 0.2):
    """Random rankings for Spearman's loss: the positions, from 1, that each round's ranking gives the items.

    They are Plackett-Luce about a central ranking: a place further down lowers an item's log-weight by `dispersion`; at
    0 they are uniform.
    """
    utilities = -dispersion * random.permutation(items)

    def draw(n):
        noisy = utilities - np.log(random.standard_exponential((n, items)))
        return np.argsort(np.argsort(-noisy, axis=1, kind="stable"), axis=1) + 1

    return _rows(rounds, items, draw, np.int8 if items <= 127 else np.int16)


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
}


def draw(name: str, random: np.random.Generator, rounds: int, /, **settings) -> np.ndarray:
    """The stream `name` with its settings, rounds x items.

    Raises
    ------
    SettingError : an unknown stream or setting, or a setting that cannot be
    """
    if name not in STREAMS:
        raise unknown("stream", name, STREAMS)
    make = STREAMS[name]
    known = make.__code__.co_varnames[2 : make.__code__.co_argcount]
    for key in settings:
        if key not in known:
            raise unknown(f"setting of stream {name!r}", key, known)
    if rounds < 1:
        raise SettingError(f"stream {name!r}: rounds is {rounds}; a game has 1 or more")
    if settings.get("items", 1) < 1:
        raise SettingError(f"stream {name!r}: items is {settings['items']}; a game has 1 or more")
    return make(random, rounds, **settings)


def _rows(rounds: int, items: int, draw, dtype=np.int8) -> np.ndarray:
    """`rounds` rows, drawn some at a time by `draw(how many)`."""
    made = np.empty((rounds, items), dtype)
    at_once = max(1, CHUNK // items)
    for start in range(0, rounds, at_once):
        stop = min(rounds, start + at_once)
        made[start:stop] = draw(stop - start)
    return made


def _chosen(random, rounds: int, utilities: np.ndarray, choices: int) -> np.ndarray:
    """Rows with ones at the `choices` items of largest utility plus Gumbel noise (draws without replacement)."""
    items = len(utilities)
    _at_most("choices", choices, items)

    def draw(n):
        chosen = np.zeros((n, items), np.int8)
        if choices == 1:  # one number a round
            edges = np.cumsum(np.exp(utilities - utilities.max()))
            np.put_along_axis(chosen, _place(edges, random.random(n))[:, None], 1, axis=1)
        else:
            noisy = np.log(random.standard_exponential((n, items))) - utilities
            np.put_along_axis(chosen, np.argpartition(noisy, choices - 1, axis=1)[:, :choices], 1, axis=1)
        return chosen

    return _rows(rounds, items, draw)


def _place(edges: np.ndarray, u: np.ndarray) -> np.ndarray:
    return np.minimum(np.searchsorted(edges, u * edges[-1], side="right"), len(edges) - 1)


def _some(random, items: int, count: int) -> np.ndarray:
    """A Boolean vector, true at `count` items drawn at random."""
    return random.permutation(items) < count


def _popularity(random, items: int, exponent: float) -> np.ndarray:
    return -exponent * np.log(random.permutation(items) + 1.0)


def _at_most(name: str, value: int, items: int) -> None:
    if not 1 <= value <= items:
        raise SettingError(f"{name} is {value}; with {items} items it must be from 1 to {items}")


def _part(name: str, value: float) -> float:
    if not 0 <= value <= 1:
        raise SettingError(f"{name} is {value}; a probability is from 0 to 1")
    return value
