"""What the names of a log's columns suggest: which role one has, and whether it holds users, ids or
times.
"""

import re
from collections.abc import Collection

import numpy as np

from scant.errors import nearest

LIKE = 0.75  # how like a role a name has to be to be proposed for it


def word_set(text: str) -> frozenset[str]:
    """The words of a text, blanks between them."""
    return frozenset(text.split())


ALIASES = {  # what others call these columns
    "action": word_set(
        "ad ad_id item item_id arm arm_id banner creative offer shown variant variation "
        "variation_id group video_id article_id product_id content_id"
    ),
    "reward": word_set("click clicked clicks is_click label converted conversion y cost"),
    "propensity": word_set(
        "pscore propensity_score action_prob probability prob p logprob log_prob"
    ),
    "timestamp": word_set("time datetime ts date"),
    "position": word_set("slot place rank"),
}
COSTS = word_set(  # words for what is better if it is less
    "bounce bounced cancelled churn churned complaint complaints cost costs crash delay error "
    "errors failure failures latency loss losses refund refunded refunds unsubscribe unsubscribed "
    "wait"
)
AVOIDED = word_set("avoided no non not prevented saved saving savings without")
# times from 2001 to 2286 in s, ms, us and ns are from this to ten times this
EPOCHS = (1e9, 1e12, 1e15, 1e18)
PEOPLE = word_set(  # words for whose visits may depend on each other
    "account cid client cookie customer device email fingerprint gaid household idfa ip login "
    "member msisdn person query session subscriber uid user username users visitor"
)
# words for what may have several rows, the places of a list
VISITS = word_set("impression pageview request serp slate visit")
PLACES = word_set("placement pos position slot place rank")
IDS = word_set(  # words that stand beside these
    "address guid hash hashed id ids key md no nr number sha uuid"
) | {""}
# words in names of times
TIMES = word_set("date datetime epoch time times timestamp ts")


def proposed(role: str, names: Collection[str]) -> str | None:
    """The column among `names` that is called like a role; None if there is none."""
    near = next((name for name in names if name.lower() in (role, *ALIASES[role])), None)
    return near or nearest(role, names, LIKE)


def words_of(name: str) -> set[str]:
    """The words in a column's name, in lower case."""
    return {*re.split(r"[^a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())}


def is_called_a_cost(name: str) -> bool:
    """Whether a column's name says that less of it is better: refund_eur, latencyMs, churned."""
    words = words_of(name)
    return bool(words & COSTS) and not words & AVOIDED


def is_called_a_user(name: str) -> bool:
    """Whether a column's name says that it holds users: user, userId, visitor_uuid."""
    words = words_of(name)
    return bool(words & PEOPLE) and words <= PEOPLE | IDS


def is_called_a_visit(name: str) -> bool:
    """Whether a column's name says that it holds visits: visit, request_id, impressionId."""
    words = words_of(name)
    return bool(words & VISITS) and words <= VISITS | IDS


def is_called_a_place(name: str) -> bool:
    """Whether a column's name says that it holds places in a list: slot, rank, pos."""
    return bool(words_of(name) & PLACES) and words_of(name) <= PLACES


def looks_like_times(name: str, values: np.ndarray) -> bool:
    """Whether a column of numbers holds times: its name says so, and it has values that are s, ms,
    us or ns since 1970.
    """
    values = values[~np.isnan(values)]
    return bool(words_of(name) & TIMES and len(values)) and any(
        values.min() >= lowest and values.max() < 10 * lowest for lowest in EPOCHS
    )
