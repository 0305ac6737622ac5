"""Learners that see clicks on the documents shown, instead of grades: PDGD, the older DBGD, and a plain one.

All are linear. A simulated user (`scant.online.clicks`) clicks on the first documents of the ranking; grades reach
these learners in no other way. `learn` gets -1 for the grades of documents that are not shown.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from scant.declared import Look, Setting
from scant.measures import rank
from scant.online import clicks
from scant.online.learners import RATES, Contextual


@dataclass(frozen=True)
class Settings:
    """The settings by which a learner from clicks plays, except its rate.

    kind : "pdgd", "dbgd" or "clicked"
    user : the simulated user's name
    click, stop : the user's probabilities, by grade from 0
    shown : how many documents the user is shown, 10 in studies
    pairs : the pairs of documents that the kind "clicked" learns from, see `Clicked`
    delta : DBGD's exploration: how far the candidate's weights are from the learner's
    measure : the measure whose loss is recorded as the learner's own
    """

    kind: str
    user: str
    click: tuple[float, ...]
    stop: tuple[float, ...]
    shown: int = 10
    pairs: str = "observed"
    delta: float = 1.0
    measure: str = "ndcg@10"


USER = Setting(
    "user",
    clicks.RULE,
    about="The simulated user: perfect, navigational or informational, or probabilities of a click and of leaving "
    "after it, by grade.",
    absent="perfect",
)
DELTA = Setting(
    "delta",
    {"type": "number", "exclusiveMinimum": 0},
    about="How far a candidate's weights are from the learner's (Yue & Joachims 2009).",
    absent=1.0,
)
PAIRS = Setting(
    "pairs",
    {"enum": ["observed", "above"]},
    about="What clicked documents are held against: those skipped above the last click and the first below it "
    "(observed), or those skipped above them alone (above).",
    absent="observed",
)


def sampled_ranking(scores: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """A ranking drawn from the Plackett-Luce model: place by place, softmax of the scores of those left.

    It sorts the scores with Gumbel noise added, which has that distribution (Yellott 1977).
    """
    noise = np.array([random.random() for _ in scores])
    with np.errstate(divide="ignore"):  # one draw in 2^53 is 0, whose document is first
        keys = (scores - np.log(-np.log1p(-noise))).astype(np.float32)
    return np.argsort(-keys, kind="stable")


def log_probability(scores: np.ndarray, ranking: np.ndarray, places: int) -> float:
    """The log of the Plackett-Luce probability of the first `places` of a ranking of all documents."""
    ranked = scores[ranking].astype(np.float64)
    return float(sum(ranked[i] - np.logaddexp.reduce(ranked[i:]) for i in range(places)))


def preferences(clicked: np.ndarray) -> list[tuple[int, int]]:
    """The preferences that clicks show, as pairs of places, the preferred one first.

    Documents above the last click and the first one below it count as observed. Each that was clicked is preferred to
    each observed one that was not (Oosterhuis & de Rijke 2018, 3.2, after Joachims).
    """
    places = np.flatnonzero(clicked)
    if not len(places):
        return []
    observed = range(min(places[-1] + 2, len(clicked)))
    return [(int(above), below) for above in places for below in observed if not clicked[below]]


def pair_weights(scores: np.ndarray, ranking: np.ndarray, clicked: np.ndarray) -> np.ndarray:
    """PDGD's weight of each pair of documents, float64 (m, m): [k, l] if clicks prefer k to l, 0 if they do not.

    It is rho times the derivative of the probability e^s_k / (e^s_k + e^s_l) in s_k. Here rho = P(R*) / (P(R) + P(R*)),
    and R* is the ranking shown with k and l exchanged (Oosterhuis & de Rijke 2018, Eq. 4 and 5).

    ranking : all documents, best first; the user saw the first `len(clicked)` of them
    """
    scores, weights = scores.astype(np.float64), np.zeros((len(scores), len(scores)))
    shown = log_probability(scores, ranking, len(clicked))
    for above, below in preferences(clicked):
        exchanged = ranking.copy()
        exchanged[[above, below]] = ranking[[below, above]]
        k, l = ranking[above], ranking[below]  # noqa: E741, the paper's letters
        with np.errstate(over="ignore"):
            rho = 1 / (1 + np.exp(shown - log_probability(scores, exchanged, len(clicked))))
            weights[k, l] = rho / ((1 + np.exp(scores[l] - scores[k])) * (1 + np.exp(scores[k] - scores[l])))
    return weights


def team_draft(
    current: np.ndarray, candidate: np.ndarray, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Two rankings interleaved (Radlinski, Kurup & Joachims 2008, Alg. 2), and whose pick each document is.

    In turns, the first by a coin, each ranking adds its best document that is not in the list yet.

    Returns
    -------
    ranking : all documents
    teams : bool, by place: whether the candidate picked it
    """
    ranking, teams = [], []
    for _ in current:
        ahead = 2 * sum(teams) - len(teams)
        picks = ahead < 0 or (ahead == 0 and random.random() < 0.5)
        ranking.append(next(i for i in (candidate if picks else current) if i not in ranking))
        teams.append(picks)
    return np.array(ranking), np.array(teams, bool)


class FromClicks(Contextual):
    """What learners from clicks share.

    explores : whether it shows other lists than its own ranking
    """

    sees = "top"
    explores: ClassVar[bool] = True

    def __init__(self, facts, rate, settings, random):
        super().__init__(facts, rate, settings, random)
        self.k, self.user = settings.shown, clicks.User(settings.click, settings.stop)

    @classmethod
    def complete_settings(cls, entry, readings, facts):
        """As of all learners; of `facts` it takes the largest grade.

        Raises
        ------
        SettingError : its user has no probabilities for such grades
        """
        chosen = entry.get("user", USER.absent)
        user = clicks.user_for(chosen, facts["largest_grade"])
        options = {key: entry[key] for key in ("delta", "pairs") if key in entry}
        return Settings(cls.kind, chosen if isinstance(chosen, str) else clicks.OWN, user.click, user.stop, **options)

    def learn(self, features, grades, ranking) -> bool:
        """Show the top of the ranking to the user, and learn from the clicks; return whether weights changed."""
        clicked = self.user.clicks(grades[ranking[: self.k]], self.random)
        direction = self.direction(features, ranking, clicked)
        if direction is None:
            return False
        self.weights += self.rate * direction
        return True

    def direction(self, features, ranking, clicked) -> np.ndarray | None:
        """What to add to the weights, before the rate: float64 (d), or None if the clicks teach nothing."""
        raise NotImplementedError

    def events(self, ranking) -> list[int]:
        """Nothing is clipped or idle."""
        return [int(self.explores), set(ranking[: self.k]) != set(self.own_ranking[: self.k]), 0, 0]

    def loop(self, stream, records):
        from scant.kernels import clicks as kernels

        setup = self.setup
        learner = kernels.Learner(
            kind=self.branch, shown=setup.shown, click=np.array(setup.click), stop=np.array(setup.stop),
            delta=float(setup.delta), above=setup.pairs == "above", rate=float(self.rate),
        )  # fmt: skip
        return kernels.play, {"learner": learner, "ranker": records["ranker"], "events": records["events"]}

    @classmethod
    def check(cls, settings) -> None:
        clicks.check(settings.get("user", USER.absent))


class PDGD(FromClicks):
    """Pairwise differentiable gradient descent: shows a sampled ranking, climbs on inferred preferences."""

    kind = "pdgd"
    about = "Pairwise differentiable gradient descent from clicks (Oosterhuis & de Rijke 2018, Alg. 1)."
    settings = (USER, RATES)
    looks: ClassVar = {
        "": Look("olive", "*"),
        "navigational": Look("olive", "X", "--"),
        "informational": Look("olive", "d", ":"),
    }
    published_rate = 0.1
    branch = 0

    def rank(self, features) -> np.ndarray:
        self.last_scores = self.scores(features)
        self.own_ranking = rank(self.last_scores)
        return sampled_ranking(self.last_scores, self.random)

    def direction(self, features, ranking, clicked):
        weights = pair_weights(self.last_scores, ranking, clicked)
        return features.astype(np.float64).T @ (weights.sum(1) - weights.sum(0)) if weights.any() else None


class DBGD(FromClicks):
    """Dueling bandit gradient descent: interleaves with a candidate at random, and goes its way if that wins."""

    kind = "dbgd"
    about = "Dueling bandit gradient descent, duels by team-draft interleaving (Yue & Joachims 2009, Alg. 1)."
    settings = (USER, RATES, DELTA)
    looks: ClassVar = {
        "": Look("pink", "h"),
        "navigational": Look("pink", "<", "--"),
        "informational": Look("pink", "p", ":"),
    }
    published_rate = 0.01
    branch = 1

    def rank(self, features) -> np.ndarray:
        self.own_ranking = rank(self.scores(features))
        normal = self.random.standard_normal(len(self.weights))
        self.unit = normal / np.linalg.norm(normal)
        candidate = rank(self.scores(features, self.weights + self.setup.delta * self.unit))
        ranking, self.teams = team_draft(self.own_ranking, candidate, self.random)
        return ranking

    def direction(self, features, ranking, clicked):
        teams = self.teams[: len(clicked)]
        return self.unit if clicked[teams].sum() > clicked[~teams].sum() else None


class Clicked(FromClicks):
    """Shows its own ranking, and descends on the logistic loss of pairs of documents that clicks prefer.

    Pairs count alike, with no weights, and nothing is explored: what would be built first. `preferences` gives the
    pairs; with `pairs` "above" only clicks over documents skipped above them count (Joachims 2002). The loss is
    RankNet's, and steps are rate / sqrt(t).
    """

    kind = "clicked"
    about = "Logistic loss of clicked documents against others that were observed, without weights or exploration."
    settings = (USER, RATES, PAIRS)
    looks: ClassVar = {
        "": Look("brown", "X"),
        "navigational": Look("brown", ">", "--"),
        "informational": Look("brown", "8", ":"),
    }
    explores = False
    published_rate = 0.1  # ours: it was not published
    branch = 2

    def rank(self, features) -> np.ndarray:
        self.round += 1
        self.last_scores = self.scores(features)
        self.own_ranking = rank(self.last_scores)
        return self.own_ranking

    def direction(self, features, ranking, clicked):
        pull, scores = np.zeros(len(ranking)), self.last_scores.astype(np.float64)
        for first, second in preferences(clicked):
            if self.setup.pairs == "observed" or second < first:
                k, j = ranking[first], ranking[second]
                slope = np.exp(-np.logaddexp(0.0, scores[k] - scores[j]))
                pull[k] += slope
                pull[j] -= slope
        return features.astype(np.float64).T @ pull / np.sqrt(self.round) if pull.any() else None


LEARNERS = {learner.kind: learner for learner in (PDGD, DBGD, Clicked)}
