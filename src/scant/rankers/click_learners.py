"""Learners that see clicks on the documents shown, instead of grades: PDGD, the older DBGD, plain
pairs, weighted ones.

All are linear. A simulated user (`scant.rankers.clicks`) clicks on the first documents of the
ranking; grades reach these learners in no other way. `learn` gets -1 for the grades of documents
that are not shown.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from scant.declare.declarations import Look, Setting
from scant.measures import rank
from scant.rankers import clicks
from scant.rankers.learners import RATES, Contextual


@dataclass(frozen=True)
class Settings:
    """The settings by which a learner from clicks plays, except its rate.

    kind : "pdgd", "dbgd", "clicked" or "ips"
    user : the simulated user's name
    click, stop, look : the user's probabilities, see `clicks.User`
    shown : how many documents the user is shown, 10 in studies
    pairs : the pairs of documents that the kind "clicked" learns from, see `Clicked`
    propensities : where the kind "ips" has its propensities from, see `Ips`
    delta : DBGD's exploration: how far the candidate's weights are from the learner's
    measure : the measure whose loss is recorded as the learner's own
    """

    kind: str
    user: str
    click: tuple[tuple[float, ...], ...]
    stop: tuple[float, ...]
    look: tuple[float, ...] = (1.0,)
    shown: int = 10
    pairs: str = "observed"
    propensities: str = "known"
    delta: float = 1.0
    measure: str = "ndcg@10"


USER = Setting(
    "user",
    clicks.RULE,
    about="The simulated user: a cascade (perfect, navigational, informational or almost-random); "
    "one who looks by position, without trust bias (position) or with it (trust); or probabilities "
    "of a click and of leaving after it, by grade, and of looking, by place.",
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
    about="What clicked documents are held against: those skipped above the last click and the "
    "first below it (observed), or those skipped above them alone (above).",
    absent="observed",
)
PROPENSITIES = Setting(
    "propensities",
    {"enum": ["known", "affine", "swapped", "none"]},
    about="What clicks are weighted by: the inverse of the probability that their place is looked "
    "at, as it is (known), corrected for trust, that is for clicks on documents that are not "
    "relevant, too (affine; Vardasbi et al. 2020), or estimated by exchanging the first document "
    "with another in a tenth of the rounds (swapped); or nothing (none).",
    absent="known",
)
SWAPS = 0.1  # the share of rounds in which documents are swapped to estimate propensities


def sampled_ranking(scores: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """A ranking drawn from the Plackett-Luce model: place by place, softmax of the scores of those
    left.

    It sorts the scores with Gumbel noise added, which has that distribution (Yellott 1977).
    """
    noise = np.array([random.random() for _ in scores])
    with np.errstate(divide="ignore"):  # one draw in 2^53 is 0, whose document is first
        keys = (scores - np.log(-np.log1p(-noise))).astype(np.float32)
    return np.argsort(-keys, kind="stable")


def log_probability(scores: np.ndarray, ranking: np.ndarray, places: int) -> float:
    """The log of the Plackett-Luce probability of the first `places` of a ranking of all
    documents.
    """
    ranked = scores[ranking].astype(np.float64)
    return float(sum(ranked[i] - np.logaddexp.reduce(ranked[i:]) for i in range(places)))


def preferences(clicked: np.ndarray) -> list[tuple[int, int]]:
    """The preferences that clicks show, as pairs of places, the preferred one first.

    Documents above the last click and the first one below it count as observed. Each that was
    clicked is preferred to each observed one that was not (Oosterhuis & de Rijke 2018, 3.2, after
    Joachims).
    """
    places = np.flatnonzero(clicked)
    if not len(places):
        return []
    observed = range(min(places[-1] + 2, len(clicked)))
    return [(int(above), below) for above in places for below in observed if not clicked[below]]


def pair_weights(scores: np.ndarray, ranking: np.ndarray, clicked: np.ndarray) -> np.ndarray:
    """PDGD's weight of each pair of documents, float64 (m, m): [k, l] if clicks prefer k to l, 0 if
    they do not.

    It is rho times the derivative of the probability e^s_k / (e^s_k + e^s_l) in s_k. Here rho =
    P(R*) / (P(R) + P(R*)), and R* is the ranking shown with k and l exchanged (Oosterhuis & de
    Rijke 2018, Eq. 4 and 5).

    ranking : all documents, best first; the user saw the first `len(clicked)` of them
    """
    scores, weights = scores.astype(np.float64), np.zeros((len(scores), len(scores)))
    log_shown = log_probability(scores, ranking, len(clicked))
    for above, below in preferences(clicked):
        exchanged = ranking.copy()
        exchanged[[above, below]] = ranking[[below, above]]
        k, l = ranking[above], ranking[below]  # noqa: E741, the paper's letters
        with np.errstate(over="ignore"):
            rho = 1 / (1 + np.exp(log_shown - log_probability(scores, exchanged, len(clicked))))
            weights[k, l] = rho / (
                (1 + np.exp(scores[l] - scores[k])) * (1 + np.exp(scores[k] - scores[l]))
            )
    return weights


def team_draft(
    current: np.ndarray, candidate: np.ndarray, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Two rankings interleaved (Radlinski, Kurup & Joachims 2008, Alg. 2), and whose pick each
    document is.

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


def _looks(colour: str, marker: str, navigational: str, informational: str) -> dict[str, Look]:
    """A learner's looks by user: a marker for each of these two users, `marker` for all others."""
    return {
        "": Look(colour, marker),
        "navigational": Look(colour, navigational, "--"),
        "informational": Look(colour, informational, ":"),
    }


class FromClicks(Contextual):
    """What learners from clicks share.

    explores : whether it shows other lists than its own ranking
    swaps : the share of rounds in which it swaps documents
    chances, shifts : float64 (places), what clicks are weighted by, see `Ips`
    """

    sees = "top"
    by_weights = True
    explores: ClassVar[bool] = True
    swaps = 0.0

    def __init__(self, facts, rate, settings, random):
        super().__init__(facts, rate, settings, random)
        self.k = settings.shown
        self.user = clicks.User(settings.click, settings.stop, settings.look)
        self.chances, self.shifts = np.ones(self.k), np.zeros(self.k)

    @classmethod
    def complete_settings(cls, entry, readings, facts):
        """See `Contextual.complete_settings`; of `facts` it takes the largest grade.

        Raises
        ------
        SettingError : its user has no probabilities for grades up to it
        """
        chosen = entry.get("user", USER.absent)
        user = clicks.user_for(chosen, facts["largest_grade"])
        options = {key: entry[key] for key in ("delta", "pairs", "propensities") if key in entry}
        name = chosen if isinstance(chosen, str) else clicks.OWN
        return Settings(cls.kind, name, user.click, user.stop, user.look, **options)

    def learn(self, features, grades, ranking) -> bool:
        """Show the top of the ranking to the user, and learn from the clicks; return whether
        weights changed.
        """
        clicked = self.user.clicks(grades[ranking[: self.k]], self.random)
        direction = self.direction(features, ranking, clicked)
        if direction is None:
            return False
        self.weights += self.rate * direction
        return True

    def direction(self, features, ranking, clicked) -> np.ndarray | None:
        """What to add to the weights, before the rate: float64 (d), or None if the clicks teach
        nothing.
        """
        raise NotImplementedError

    def events(self, ranking) -> list[int]:
        """Whether it explores; whether others than its top documents were shown on top; nothing is
        clipped or idle.
        """
        return [int(self.explores), set(ranking[: self.k]) != set(self.own_ranking[: self.k]), 0, 0]

    def loop(self, stream, records):
        from scant.kernels import clicks as kernels

        setup = self.setup
        learner = kernels.Learner(
            kind=self.branch,
            shown=setup.shown,
            click=self.user.chances(setup.shown),
            stop=np.array(setup.stop),
            delta=float(setup.delta),
            above=setup.pairs == "above",
            swaps=self.swaps,
            chances=self.chances,
            shifts=self.shifts,
            rate=float(self.rate),
        )
        return kernels.play, {
            "learner": learner,
            "ranker": records["ranker"],
            "events": records["events"],
        }

    @classmethod
    def check(cls, settings) -> None:
        clicks.check(settings.get("user", USER.absent))


class PDGD(FromClicks):
    """Pairwise differentiable gradient descent: shows a sampled ranking, climbs on inferred
    preferences.
    """

    kind = "pdgd"
    about = (
        "Pairwise differentiable gradient descent (Oosterhuis & de Rijke 2018, Alg. 1): shows a "
        "list drawn from the Plackett-Luce model of its scores, and prefers what was clicked to "
        "what else stands above the last click or right below it, each pair weighted against the "
        "bias of its places."
    )
    settings = (USER, RATES)
    looks: ClassVar = _looks("olive", "*", "X", "d")
    published_rate = 0.1
    branch = 0

    def rank(self, features) -> np.ndarray:
        self.last_scores = self.scores(features)
        self.own_ranking = rank(self.last_scores)
        return sampled_ranking(self.last_scores, self.random)

    def direction(self, features, ranking, clicked):
        weights = pair_weights(self.last_scores, ranking, clicked)
        return (
            features.astype(np.float64).T @ (weights.sum(1) - weights.sum(0))
            if weights.any()
            else None
        )


class DBGD(FromClicks):
    """Dueling bandit gradient descent: interleaves with a candidate at random, and goes its way if
    that wins.
    """

    kind = "dbgd"
    about = (
        "Dueling bandit gradient descent (Yue & Joachims 2009, Alg. 1): interleaves its ranking "
        "with that of weights `delta` away (team draft), and moves towards them if their documents "
        "get more clicks."
    )
    settings = (USER, RATES, DELTA)
    looks: ClassVar = _looks("pink", "h", "<", "p")
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
    """Shows its own ranking, and descends on the logistic loss of pairs of documents that clicks
    prefer.

    Pairs count alike, with no weights, and nothing is explored: what would be built first.
    `preferences` gives the pairs; with `pairs` "above" only clicks over documents skipped above
    them count (Joachims 2002). The loss is RankNet's, and steps are rate / sqrt(t).
    """

    kind = "clicked"
    about = (
        "Shows its own ranking, and descends on the logistic loss of PDGD's pairs without weights; "
        "with `pairs: above` on those of documents skipped above a click alone (Joachims 2002). "
        "Steps are rate / sqrt(t)."
    )
    settings = (USER, RATES, PAIRS)
    looks: ClassVar = _looks("brown", "X", ">", "8")
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
        observed = self.setup.pairs == "observed"
        pairs = [
            (ranking[first], ranking[second])
            for first, second in preferences(clicked)
            if observed or second < first
        ]
        for k, j in pairs:
            slope = np.exp(-np.logaddexp(0.0, scores[k] - scores[j]))
            pull[k] += slope
            pull[j] -= slope
        return features.astype(np.float64).T @ pull / np.sqrt(self.round) if pairs else None


class Ips(FromClicks):
    """Descends on the logistic loss of clicked documents against all others shown, weighted by
    inverse propensities.

    A click in place k counts (1 - b_k) / a_k; a document there without a click counts -b_k / a_k.
    With `propensities`

    known : a_k is the probability that the user looks at place k, b_k is 0 (Joachims, Swaminathan &
        Schnabel 2017): unbiased for the loss of a user who looks at every place, if clicks do not
        depend on the place otherwise
    affine : b_k is the probability of a click on a document of grade 0 in place k, and a_k + b_k
        that on one of the largest grade: unbiased under trust bias, too (Vardasbi, Oosterhuis & de
        Rijke 2020)
    swapped : as known, with an estimate of a_k / a_1: in a share `SWAPS` of the rounds a place k
        below the first is drawn, and by a coin its document is exchanged with the first one's; then
        both places have the same documents on average, and a_k / a_1 is the ratio of the clicks on
        the two (Joachims et al. 2017, 5.1), one click being added to each
    none : a_k is 1 and b_k is 0

    Otherwise it is as `Clicked`. The loss is that of the documents shown alone.
    """

    kind = "ips"
    about = (
        "As `clicked`, with each clicked document against all others shown, and clicks weighted by "
        "inverse propensities (after Joachims et al. 2017), for a user who never leaves."
    )
    settings = (USER, RATES, PROPENSITIES)
    looks: ClassVar = _looks("purple", "P", "^", "v")
    published_rate = 0.1  # ours
    branch = 3

    def __init__(self, facts, rate, settings, random):
        super().__init__(facts, rate, settings, random)
        if settings.propensities == "known":
            self.chances = self.user.propensities(self.k)
        elif settings.propensities == "affine":
            self.chances, self.shifts = self.user.affine(self.k)
        elif settings.propensities == "swapped":
            self.swaps = SWAPS
            self.clicks_on_first, self.clicks_on_other = np.ones((2, self.k))

    def rank(self, features) -> np.ndarray:
        self.round += 1
        self.last_scores = self.scores(features)
        self.own_ranking, self.swapped = rank(self.last_scores), 0
        ranking, places = self.own_ranking.copy(), min(self.k, len(features))
        if self.swaps and self.random.random() < self.swaps and places > 1:
            self.swapped = 1 + int(self.random.random() * (places - 1))
            if self.random.random() < 0.5:
                ranking[[0, self.swapped]] = ranking[[self.swapped, 0]]
        return ranking

    def direction(self, features, ranking, clicked):
        if place := self.swapped:
            self.clicks_on_first[place] += clicked[0]
            self.clicks_on_other[place] += clicked[place]
            self.chances[place] = self.clicks_on_other[place] / self.clicks_on_first[place]
        counts = clicked / self.chances[: len(clicked)] - self.shifts[: len(clicked)]
        shown = ranking[: len(clicked)]
        scores = self.last_scores[shown].astype(np.float64)
        slopes = counts[:, None] * np.exp(-np.logaddexp(0.0, scores[:, None] - scores))
        pull = np.zeros(len(ranking))
        # 0 where scores and counts are equal, whatever rounding leaves
        pull[shown] = (slopes - slopes.T).sum(axis=1)
        learns = counts.any() and len(counts) > 1
        return features.astype(np.float64).T @ pull / np.sqrt(self.round) if learns else None

    def events(self, ranking):
        return [int(self.swapped > 0), *super().events(ranking)[1:]]

    @classmethod
    def check(cls, settings) -> None:
        super().check(settings)
        propensities = settings.get("propensities", PROPENSITIES.absent)
        if propensities != "none":
            clicks.check_propensities(propensities, settings.get("user", USER.absent))


LEARNERS = {learner.kind: learner for learner in (PDGD, DBGD, Clicked, Ips)}
