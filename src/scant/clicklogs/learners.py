"""What is played on click logs: estimators of a ranker's clicks, and learners of rankers.

A learner of one's own is named `module:Class` in the settings, and made as `Class(**settings)`. Its
method `values` takes a `Counted`, and says how much each document is worth: float64 (documents), 0
or more. The ranker is that with the least cross entropy of these values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from scant.clicklogs import estimates, fitting, logs
from scant.clicklogs.estimates import Case, Counts, Weighted
from scant.clicklogs.logs import Log, Split, World
from scant.clicklogs.policies import Policy
from scant.declare import declarations
from scant.declare.declarations import Look, Setting, own_class
from scant.errors import SettingError

if TYPE_CHECKING:
    from scant.data.stream import Stream

HARVESTED, INVERSE, KNOWN = "harvested", "1/place", "known"
SPLIT = 0.7  # the share of the visits that a safe learner learns from; the others judge

CURVE = Setting(
    "curve",
    {"enum": [INVERSE, HARVESTED]},
    "How often each place is looked at: 1/place, which is right for users who look by place, or "
    "what the log itself tells (harvested).",
    absent=INVERSE,
)
OF_USER = replace(
    CURVE,
    rule={"enum": [INVERSE, HARVESTED, KNOWN]},
    about="How often each place is looked at: 1/place, what the log itself tells (harvested), or "
    "the simulated user's own, with the clicks that trust in a place brings to whatever is there "
    "(known).",
)
RATE = Setting("rate", {"type": "number", "exclusiveMinimum": 0}, "The learning rate.", absent=0.1)


def _looks(colour: str, marker: str) -> dict[str, Look]:
    """How a learner is drawn, by the position curve that it takes."""
    dashes = {"": "-", HARVESTED: "--", KNOWN: ":"}
    return {curve: Look(colour, marker, line) for curve, line in dashes.items()}


@dataclass(frozen=True, eq=False)
class Site:
    """What all seeds of a job share: a click log's settings, queries and world."""

    stream: Stream
    settings: Mapping
    queries: Split
    world: World

    @property
    def logging(self) -> Policy:
        return self.world.logging

    @cached_property
    def target(self) -> Policy:
        """The policy whose clicks are estimated: it sorts by a ranker that is fitted to the grades
        of all queries that are not held out.
        """
        return self.sorts_by(logs.graded_ranker(self.stream, self.queries.trained_on))

    @cached_property
    def expected(self) -> Counts:
        """The mean counts of a visit under the policy that logs."""
        of_queries = self.world.clicks_in_log(), self.logging.marginals
        clicks, showings = (np.concatenate(of) / len(self.queries.visited) for of in of_queries)
        return Counts(clicks, showings, estimates.starts(self.logging))

    @cached_property
    def shown(self) -> np.ndarray:
        """How often the target shows each document in each place of a visit, on average: float64
        (documents, K).
        """
        return np.concatenate(self.target.marginals) / len(self.queries.visited)

    @cached_property
    def documents(self) -> fitting.Documents:
        """The documents of all visited queries."""
        return fitting.documents(self.stream, self.queries.visited)

    @cached_property
    def logging_ranker(self) -> np.ndarray:
        """The weights of the ranker that logs."""
        return logs.logging_ranker(self.stream, self.settings, self.queries)

    @cached_property
    def graded_ranker(self) -> np.ndarray:
        """The weights with the least cross entropy of the grades of all visited queries."""
        return fitting.cross_entropy(self.documents, np.concatenate(self.world.grades))

    def sorts_by(self, weights: np.ndarray) -> Policy:
        """The policy that sorts the visited queries by the ranker with these weights."""
        scores = logs.scored(self.stream, self.queries.visited, weights)
        return Policy(scores, self.settings["places"])


def site(stream: Stream, settings: Mapping) -> Site:
    """The site of a click log with these settings."""
    queries = logs.split(stream, settings)
    return Site(stream, settings, queries, logs.world(stream, settings, queries))


# --- estimators


class OnLog(declarations.Learner):
    """What estimators and learners share.

    options : its settings, none of which is absent
    """

    draws = False

    def __init__(self, **settings):
        self.options = {one.name: one.absent for one in self.settings} | settings

    def curve(self, counts: Counts, site: Site) -> tuple[np.ndarray, np.ndarray]:
        """The position curve that it takes for right, and how often each place is clicked whatever
        is there: float64 (K) each.
        """
        places, chosen = counts.clicks.shape[1], self.options.get("curve")
        if chosen == KNOWN:
            look, share = site.world.user.affine(places)
            return look, look * share
        if chosen == HARVESTED:
            return estimates.harvested_curve(counts), np.zeros(places)
        return 1 / np.arange(1, places + 1), np.zeros(places)


class Estimator(OnLog):
    """An estimator of the clicks of the site's target.

    premise : what users must be like for it to be right
    weighted : the function that gives the weighted clicks of each visit
    """

    premise: ClassVar[str]
    weighted: ClassVar[Callable[[Case], Weighted]]

    def of(self, log: Log, site: Site) -> Weighted:
        """The weighted documents of each visit of a log."""
        look, _ = self.curve(estimates.counted(log, site.logging), site)
        return self.weighted(Case(log, site.logging, site.target, look))

    def limit(self, site: Site) -> np.ndarray:
        """What the estimates tend to, by place: float64 (K)."""
        return estimates.item_position_limit(site.expected, site.shown)


class ItemPosition(Estimator):
    """The target's chance of the document in its place over the log's."""

    kind = "item-position"
    about = "Weights the click on a document in a place by the chances of that (Li et al. 2018)."
    premise = "what else is in the list does not matter"
    looks: ClassVar = {"": Look("blue", "o")}
    weighted = staticmethod(estimates.item_position)


class Prefix(Estimator):
    """The target's chance of the documents from the top down to this one over the log's."""

    kind = "prefix"
    about = (
        "Weights a click by the chances of the documents from the top down to it (McInerney et al. "
        "2020)."
    )
    premise = "what stands below does not matter"
    looks: ClassVar = {"": Look("green", "s")}
    weighted = staticmethod(estimates.prefix)

    def limit(self, site):
        chances = [
            site.logging.prefixes(q, order[None, : site.settings["places"]])
            for q, order in enumerate(site.target.orders)
        ]
        return (site.world.rates_of(site.target) * (np.concatenate(chances) > 0)).mean(axis=0)


class Pooled(Estimator):
    """How often the target has a document looked at, wherever, over how often the log has."""

    kind = "pooled"
    about = (
        "Weights a click by how often each policy has the document looked at, in whatever place "
        "(Li et al. 2018; Oosterhuis & de Rijke 2020)."
    )
    premise = "a click is looking at the place, by a curve that is known, times the document's pull"
    settings = (CURVE,)
    looks = _looks("orange", "^")
    weighted = staticmethod(estimates.pooled)

    def limit(self, site):
        look, _ = self.curve(site.expected, site)
        return estimates.pooled_limit(site.expected, site.shown, look)


class Model(Estimator):
    """Doubly robust item-position weights."""

    kind = "doubly-robust"
    about = (
        "What a click model says of the target, and item-position weights times what it says "
        "wrongly of the clicks."
    )
    premise = "what else is in the list does not matter; the model may be wrong"
    settings = (CURVE,)
    looks = _looks("purple", "D")
    weighted = staticmethod(estimates.doubly_robust)


# --- learners


@dataclass(frozen=True, eq=False)
class Counted:
    """What a log tells a learner of rankers.

    counts : of the documents of all visited queries, one after another
    features : float64 (documents, d)
    visits : float64 (documents), with the query of each document
    look : float64 (K), the position curve
    trust : float64 (K), how often each place is clicked whatever is there
    chance : float64 (documents), with which the log has a document looked at in a visit
    """

    counts: Counts
    features: np.ndarray
    visits: np.ndarray
    look: np.ndarray
    trust: np.ndarray
    chance: np.ndarray

    @property
    def clicks(self) -> np.ndarray:
        """The number of clicks on each document: float64 (documents)."""
        return self.counts.clicks.sum(axis=1)

    @property
    def looks(self) -> np.ndarray:
        """How often each document was looked at: float64 (documents)."""
        return self.counts.showings @ self.look


def counted(log: Log, site: Site, learner: OnLog) -> Counted:
    """The `Counted` of a log, by the learner's position curve."""
    counts = estimates.counted(log, site.logging)
    look, trust = learner.curve(counts, site)
    visits = np.bincount(log.query, minlength=len(counts.starts) - 1)
    chance = np.concatenate([marginals @ look for marginals in site.logging.marginals])
    visits = np.repeat(visits, np.diff(counts.starts)).astype(float)
    return Counted(counts, site.documents.features, visits, look, trust, chance)


class Ranker(OnLog):
    """A linear ranker that is learnt, from a log or from what it is compared with."""

    def ranker(self, log: Log, site: Site, random: np.random.Generator) -> np.ndarray:
        """The ranker's weights: float64 (d)."""
        raise NotImplementedError


class FromLog(Ranker):
    """The ranker with the least cross entropy of what clicks make each document worth."""

    settings = (CURVE,)

    def values(self, told: Counted) -> np.ndarray:
        """How much each document is worth: float64 (documents), 0 or more."""
        raise NotImplementedError

    def ranker(self, log, site, random):
        return fitting.cross_entropy(site.documents, self.values(counted(log, site, self)))


class AsIs(FromLog):
    """A document is worth its clicks, with no correction for places."""

    kind = "clicks-as-is"
    about = "Cross entropy of the clicks as they are."
    settings = ()
    looks: ClassVar = {"": Look("grey", "p")}

    def values(self, told):
        return told.clicks


class DoublyRobust(FromLog):
    """Values documents by a regression of clicks, and policy-aware weights times its errors."""

    kind = "clicks-doubly-robust"
    about = (
        "Cross entropy of what a regression says of each document, and of policy-aware weights "
        "times what it says wrongly of the clicks; no chance of a look counts as less than 10 / "
        "sqrt(visits), or 1 (Oosterhuis 2023)."
    )
    settings = (OF_USER,)
    looks = _looks("purple", "d")

    def least_chance(self, visits: float) -> float:
        """What clicks are divided by at least, in a log of so many visits."""
        return min(10 / np.sqrt(visits), 1.0)

    def values(self, told):
        clicks, looks = told.clicks - told.counts.showings @ told.trust, told.looks
        seen, least = looks > 0, self.least_chance(told.counts.showings[:, 0].sum())
        rates = clicks[seen] / looks[seen]
        weights, intercept = fitting.ridge(told.features[seen], rates, looks[seen])
        pulls = np.clip(told.features @ weights + intercept, 0.0, 1.0)
        wrong = (clicks - looks * pulls) / np.maximum(told.chance, least)
        return np.maximum(told.visits * pulls + wrong, 0.0)


class Safe(DoublyRobust):
    """A ranker learnt from a part of the visits if the others show that it has more clicks than the
    logging ranker; else the logging ranker.
    """

    kind = "clicks-safe"
    about = (
        "Doubly robust on 70 % of the visits. It is deployed if the others show, with 95 % "
        "confidence by pooled weights, that it has more clicks than the logging ranker would have "
        "without exploring, unless the 70 % show that clicks depend on what stands above, which "
        "refutes these weights; else the logging ranker stays."
    )
    settings = (CURVE,)
    looks = _looks("green", "P")

    def ranker(self, log, site, random):
        first = int(SPLIT * len(log))
        taught, rest = log.take(slice(first)), log.take(slice(first, None))
        learnt, stays = super().ranker(taught, site, random), site.logging_ranker
        if estimates.premise_p(taught, site.logging) < 1 - estimates.LEVEL:
            return stays
        rivals = site.sorts_by(learnt), site.sorts_by(stays)
        look, _ = self.curve(estimates.counted(rest, site.logging), site)
        return learnt if estimates.least_lead(rest, site.logging, *rivals, look) > 0 else stays


class Logging(Ranker):
    """The ranker that logs."""

    kind = "logging-ranker"
    about = "The ranker that logs, without its exploration: where learning starts."
    looks: ClassVar = {"": Look("#000000", "v", ":")}

    def ranker(self, log, site, random):
        return site.logging_ranker


class Grades(Ranker):
    """ListNet on the grades of all queries that are visited."""

    kind = "visited-grades"
    about = "Cross entropy of the grades of all visited queries, which no log tells."
    looks: ClassVar = {"": Look("vermilion", "P")}

    def ranker(self, log, site, random):
        return site.graded_ranker


class Online(Ranker):
    """PDGD, which shows lists of its own to the same visitors."""

    kind = "pdgd-online"
    about = (
        "Pairwise differentiable gradient descent (Oosterhuis & de Rijke 2018), which shows its "
        "own lists to as many visitors."
    )
    settings = (RATE,)
    looks: ClassVar = {"": Look("olive", "*")}
    draws = True

    def ranker(self, log, site, random):
        from scant.rankers.click_learners import PDGD
        from scant.rankers.play import play

        facts = site.stream.metadata | {"rounds": len(log)}
        entry = {"kind": PDGD.kind, "user": site.settings["user"]}
        setup = replace(PDGD.complete_settings(entry, {}, facts), shown=site.settings["places"])
        learner = PDGD(facts, self.options["rate"], setup, random)
        played = play(site.stream, site.queries.visited[log.query], learner)
        if played.failed_in:
            raise SettingError(f"pdgd-online: scores overflow at the rate {learner.rate}: lower it")
        return played.weights


ESTIMATORS = {estimator.kind: estimator for estimator in (ItemPosition, Pooled, Model, Prefix)}
RANKERS = (AsIs, DoublyRobust, Safe, Logging, Grades, Online)
LEARNERS = ESTIMATORS | {learner.kind: learner for learner in RANKERS}


class Own(FromLog):
    """A user's own learner."""

    def __init__(self, settings: Mapping):
        super().__init__()
        options = {key: value for key, value in settings.items() if key not in ("kind", "options")}
        self.kind = settings["kind"]
        self.learner = own_class(self.kind)(**options, **settings.get("options", {}))

    def values(self, told):
        values = np.asarray(self.learner.values(told), float)
        if values.shape != told.visits.shape or not (values >= 0).all():
            raise SettingError(
                f"{self.kind}: values is to return {len(told.visits)} numbers, 0 or more"
            )
        return values


def made(settings: Mapping) -> OnLog:
    """The estimator or learner that a study's settings declare."""
    if settings["kind"] not in LEARNERS:
        return Own(settings)
    given = {key: value for key, value in settings.items() if key != "kind"}
    return LEARNERS[settings["kind"]](**given)
