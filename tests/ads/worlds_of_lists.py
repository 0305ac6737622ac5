"""Small worlds of lists whose every number is known by enumeration: contexts, items with grades,
and users who click.
"""

from itertools import permutations

import numpy as np
import pandas as pd

GRADES = np.array([[0, 2, 1, 0, 0, 1], [1, 0, 0, 2, 1, 0], [2, 0, 1, 0, 2, 0], [0, 1, 0, 0, 0, 2]])
LOGGED = 0.5 * GRADES + np.sin(1 + 2 * np.arange(4)[:, None] + 3 * np.arange(6))
LISTS = np.array([*permutations(range(6), 3)])
LOOK = 1 / np.arange(1, 4)
# of users, the chance of a click by place and grade, and of leaving after it by grade
USERS = {
    "position": (LOOK[:, None] * [0.1, 0.55, 1.0], [0.0, 0.0, 0.0]),
    "navigational": (np.tile([0.05, 0.5, 0.95], (3, 1)), [0.2, 0.5, 0.9]),
    "informational": (np.tile([0.4, 0.7, 0.9], (3, 1)), [0.1, 0.3, 0.5]),
    "random": (LOOK[:, None] * [0.2, 0.2, 0.2], [0.0, 0.0, 0.0]),
}
KINDS = ("above", "place", "list")


def drawn_by(scores: np.ndarray) -> np.ndarray:
    """The chance of each list by which Plackett-Luce draws it by scores, (contexts x 120)."""
    weight, left = np.exp(scores - scores.max(axis=1, keepdims=True)), np.ones((120, 6))
    chance = np.ones((len(scores), 120))
    for item in LISTS.T:
        chance *= weight[:, item] / (weight @ left.T)
        left[np.arange(120), item] = 0.0
    return chance


def shuffled(share: float) -> np.ndarray:
    """Likewise, if the three items with the largest scores of `LOGGED` stand in their order, and in
    a share of visits in a random one.
    """
    best = drawn_by(1e3 * LOGGED)
    alike = np.sort(LISTS, axis=1) == np.sort(LISTS[best.argmax(axis=1)], axis=1)[:, None]
    return (1 - share) * best + share * alike.all(axis=2) / 6


def kinds(chance: np.ndarray) -> dict[str, np.ndarray]:
    """Of chances of lists the probabilities of each kind, (contexts x 120 x 3): of each item given
    what stands above, of the item at its place, and of the list.
    """
    above, place, before = [], [], np.ones((len(chance), 1))
    for k in range(3):
        same = (LISTS[:, None, : k + 1] == LISTS[:, : k + 1]).all(axis=2)
        prefix = chance @ same
        above.append(np.divide(prefix, before, out=np.zeros_like(prefix), where=prefix > 0))
        before = prefix
        place.append(chance @ (LISTS[:, [k]] == LISTS[:, k]))
    of_kinds = above, place, [chance] * 3
    return {kind: np.stack(of, axis=2) for kind, of in zip(KINDS, of_kinds, strict=True)}


LOGGING, BEST = drawn_by(LOGGED), drawn_by(200.0 * GRADES - 30.0 * np.arange(6))  # ties by number
SOFT = drawn_by(1.5 * GRADES)


def clicks_by_place(user: str) -> np.ndarray:
    """The expected clicks at each place of each list, (contexts x 120 x 3)."""
    click, leave = map(np.array, USERS[user])
    grade, stays, means = GRADES[:, LISTS], 1.0, []
    for k in range(3):
        chance = click[k][grade[:, :, k]]
        means.append(stays * chance)
        stays = stays * (1 - chance * leave[grade[:, :, k]])
    return np.stack(means, axis=2)


def log_of(
    visits: int, user: str, kind: str, target=BEST, logging=LOGGING, seed: int = 0
) -> pd.DataFrame:
    """A log of lists, a row for each place; `mixed` users are half `position`, half look at the
    first place alone.
    """
    random = np.random.default_rng(seed)
    logged, judged = kinds(logging), kinds(target)
    context = random.integers(0, 4, visits)
    ends = np.cumsum(logging, axis=1)
    drawn = (random.random(visits)[:, None] * ends[context, -1:] > ends[context]).sum(axis=1)
    click, leave = map(np.array, USERS["position" if user == "mixed" else user])
    grade, here = GRADES[context[:, None], LISTS[drawn]], np.ones(visits, bool)
    first_alone, clicked = (random.random(visits) < 0.5) & (user == "mixed"), []
    for k in range(3):
        click_here = here & (random.random(visits) < click[k][grade[:, k]])
        clicked.append(click_here)
        here = here & ~(click_here & (random.random(visits) < leave[grade[:, k]])) & ~first_alone
    return pd.DataFrame(
        {
            "visit": np.repeat(np.arange(visits), 3),
            "position": np.tile([1, 2, 3], visits),
            "query": np.repeat([f"q{number}" for number in context], 3),
            "action": LISTS[drawn].ravel(),
            "reward": np.column_stack(clicked).ravel().astype(int),
            "propensity": logged[kind][context, drawn].ravel(),
            "policy:best": judged[kind][context, drawn].ravel(),
        }
    )


def abandoned(visits: int, seed: int, kind: str = "place") -> pd.DataFrame:
    """A log of lists of 3 of 9 items, drawn at random, whose users leave when they find it: after a
    click on one of the largest grade. The best items on top earn 0.875 clicks a visit, today's
    lists 1.014, and by weights of places 1.317.
    """
    random = np.random.default_rng(seed)
    shown = np.argsort(random.random((visits, 9)), axis=1)[:, :3]
    grade, here, clicked = np.arange(9)[shown] // 3, np.ones(visits, bool), []
    for k in range(3):
        clicked.append(here & (random.random(visits) < np.array([0.3, 0.4, 0.5])[grade[:, k]]))
        here = here & ~(clicked[k] & (grade[:, k] == 2))
    place = np.tile(np.arange(3), visits)
    return pd.DataFrame(
        {
            "visit": np.repeat(np.arange(visits), 3),
            "position": place + 1,
            "action": shown.ravel(),
            "reward": np.column_stack(clicked).ravel().astype(int),
            "propensity": 1 / 9 if kind == "place" else 1 / (9 - place),
            "policy:best": (shown.ravel() == 8 - place) * 1.0,
        }
    )
