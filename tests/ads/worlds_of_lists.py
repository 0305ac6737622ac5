"""Small worlds of lists whose every number is known by enumeration: contexts, items with grades,
and users who click.
"""

from itertools import permutations

import numpy as np
import pandas as pd

GRADES = np.array([[0, 2, 1, 0, 0, 1], [1, 0, 0, 2, 1, 0], [2, 0, 1, 0, 2, 0], [0, 1, 0, 0, 0, 2]])
LOGGED = 0.5 * GRADES + np.sin(1 + 2 * np.arange(4)[:, None] + 3 * np.arange(6))
BEST = 200.0 * GRADES - 30.0 * np.arange(6)  # the items by grade, ties by number
LISTS = np.array([*permutations(range(6), 3)])
LOOK = 1 / np.arange(1, 4)
# of users, the chance of a click by place and grade, and of leaving after it by grade
USERS = {
    "position": (LOOK[:, None] * [0.1, 0.55, 1.0], [0.0, 0.0, 0.0]),
    "navigational": (np.tile([0.05, 0.5, 0.95], (3, 1)), [0.2, 0.5, 0.9]),
    "informational": (np.tile([0.4, 0.7, 0.9], (3, 1)), [0.1, 0.3, 0.5]),
    "random": (LOOK[:, None] * [0.2, 0.2, 0.2], [0.0, 0.0, 0.0]),
}
KINDS = ("place", "above", "list")


def chances(scores: np.ndarray) -> dict[str, np.ndarray]:
    """What Plackett-Luce draws by scores, (contexts x items): the chance of each list, of each of
    its items given what stands above, and of the item at its place; (contexts x 120 x 3).
    """
    weight, left = np.exp(scores - scores.max(axis=1, keepdims=True)), np.ones((120, 6))
    above = np.empty((len(scores), 120, 3))
    for k, item in enumerate(LISTS.T):
        above[:, :, k] = weight[:, item] / (weight @ left.T)
        left[np.arange(120), item] = 0.0
    whole = above.prod(axis=2)
    place = np.stack([whole @ (LISTS[:, [k]] == LISTS[:, k]) for k in range(3)], axis=2)
    return {"above": above, "place": place, "list": np.repeat(whole[:, :, None], 3, axis=2)}


def clicks_by_place(user: str) -> np.ndarray:
    """The expected clicks at each place of each list, (contexts x 120 x 3)."""
    click, leave = map(np.array, USERS[user])
    grade, stays, means = GRADES[:, LISTS], 1.0, []
    for k in range(3):
        chance = click[k][grade[:, :, k]]
        means.append(stays * chance)
        stays = stays * (1 - chance * leave[grade[:, :, k]])
    return np.stack(means, axis=2)


def log_of(visits: int, user: str, kind: str, target=BEST, seed: int = 0) -> pd.DataFrame:
    """A log of lists, a row for each place; `mixed` users are half `position`, half look at the
    first place alone.
    """
    random = np.random.default_rng(seed)
    logged, judged = chances(LOGGED), chances(target)
    context = random.integers(0, 4, visits)
    ends = np.cumsum(logged["list"][:, :, 0], axis=1)
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
