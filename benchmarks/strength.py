"""Hold click logs to the numbers of independent code: both are printed, and by how many standard
errors they differ.

    snakemake --cores all streams --configfile config/studies/rankings.yaml
    python benchmarks/strength.py [--streams results/rankings/streams] [--seeds 12]

NDCG@10 is on queries that were not visited. The first table has the clicks as they are and doubly
robust, by how good the ranker that logs is, with the clip and the penalty of the independent code,
0.02 and 0.001; the second, doubly robust as its paper has it and grades with a penalty that is
chosen, against the same with these. The third has the limit of item-position's error where users
leave, which involves no chance, and the fourth the root mean squared error of two estimates of
clicks. The last has how often the safe rule deploys, and how often the true clicks on visited
queries, or NDCG@10 on others by more than 0.005, are then below those of the ranker that logs;
beside the independent code's count of a rule that compares with the log's own clicks.
"""

import argparse
from functools import cache
from pathlib import Path

import numpy as np

from scant.clicklogs import fitting, learners, run
from scant.clicklogs.family import CLICK_LOG
from scant.data import stream as streams
from scant.randomness import generator

DEFAULTS = {name: rule.get("default") for name, rule in CLICK_LOG["properties"].items()}
MQ2008 = {"stream": "mq2008", "held_out": 156}
OHSUMED = {"stream": "ohsumed", "held_out": 36}
DIGITS = {"stream": "digits", "logging_queries": 5}
WEAK, STRONG = MQ2008 | {"logging_queries": 20}, MQ2008 | {"logging_queries": 400}
LEAVE, SHARP = {"user": "navigational"}, {"spread": 4.0}
# click log, visits, as they are, doubly robust, the difference, half of its 95 % t interval
KNOWN = (
    (WEAK, 1000, 0.685, 0.685, 0.000, 0.013),
    (WEAK, 10_000, 0.689, 0.715, 0.027, 0.005),
    (STRONG, 1000, 0.716, 0.690, -0.025, 0.009),
    (STRONG, 10_000, 0.720, 0.716, -0.003, 0.003),
    (STRONG | LEAVE | SHARP, 1000, 0.719, 0.670, -0.049, 0.012),
    (STRONG | LEAVE | SHARP, 10_000, 0.721, 0.696, -0.025, 0.005),
    (MQ2008 | {"logging_queries": 100}, 1000, None, None, -0.029, 0.010),
    (MQ2008 | LEAVE | {"logging_queries": 100}, 1000, None, None, -0.027, 0.005),
    (OHSUMED | {"logging_queries": 60}, 1000, None, None, -0.020, 0.005),
    (OHSUMED | LEAVE | {"logging_queries": 60}, 1000, None, None, -0.007, 0.009),
)
# click log, visits, curve, with the independent code's clip and penalty, as the paper has it
PAPERS = (
    (WEAK, 1000, "1/place", 0.690, 0.702),
    (WEAK | {"user": "trust"}, 10_000, "known", 0.702, 0.716),
)
GRADES = (
    (OHSUMED | {"logging_queries": 20}, 0.497, 0.509),
    ({"stream": "yandex-sample", "held_out": 34, "places": 5, "logging_queries": 10}, 0.781, 0.797),
)
LIMITS = ((WEAK, 0.0953), (OHSUMED | {"logging_queries": 20}, 0.176), (DIGITS, 0.384))
ERRORS = (  # click log, of item-position and of pooled weights: the error, and its standard error
    (WEAK, (0.069, 0.009), (0.045, 0.005)),
    (OHSUMED, (0.079, 0.008), (0.038, 0.004)),
    (DIGITS, (0.028, 0.003), (0.017, 0.002)),
)
SAFE = (  # click log, visits, logs, and of how many rules of the independent code's count did harm
    (MQ2008 | {"logging_queries": 100}, 1000, "5 of 24"),
    (STRONG | LEAVE | SHARP, 10_000, "11 of 12"),
    (GRADES[1][0], 10_000, "17 of 33"),
)
CLIP, PENALTY = 0.02, 0.001


class Clipped(learners.DoublyRobust):
    """Doubly robust with the independent code's clip."""

    def least_chance(self, visits):
        return CLIP


class Sites:
    """Sites and logs of these streams."""

    def __init__(self, folder: Path):
        self.folder, self.of = folder, cache(self._of)

    def at(self, settings: dict) -> learners.Site:
        return self.of(tuple(sorted((DEFAULTS | settings).items())))

    def _of(self, settings: tuple) -> learners.Site:
        settings = dict(settings)
        stream = streams.read(self.folder / f"{settings['stream']}.arrow")
        return learners.site(stream, settings)

    def drawn(self, settings: dict, visits: int, seeds: int):
        """The site and the logs of some seeds."""
        site = self.at(settings)
        for seed in range(seeds):
            random = generator(0, "strength", str(sorted(settings.items())), visits, seed)
            yield site, site.world.draw(visits, random)


def of_values(site, learner, log, penalty=None) -> float:
    """NDCG@10 of what is learnt from the values of a learner, at a penalty, or the one chosen."""
    values = learner.values(learners.counted(log, site, learner))
    penalty = penalty or fitting.chosen_penalty(site.documents, values)
    return run.held_out(site, fitting.penalised(site.documents, values, penalty))


def error(values) -> float:
    return np.std(values, ddof=1) / np.sqrt(len(values))


def named(settings: dict) -> str:
    of = DEFAULTS | settings
    return f"{of['stream']:13} {of['user']:12} {of['logging_queries']:4} {of['spread']:4g}"


HEAD = f"{'stream':13} {'user':12} {'fit':>4} {'sprd':>4}"


def strength(sites: Sites, seeds: int) -> None:
    print(f"{HEAD} visits  as they are    doubly robust  difference (se)   known (se)      apart")
    for settings, visits, known_as_is, known_robust, known, half in KNOWN:
        both = [
            [of_values(site, learner, log, PENALTY) for learner in (learners.AsIs(), Clipped())]
            for site, log in sites.drawn(settings, visits, seeds)
        ]
        as_is, robust = np.transpose(both)
        here, of_known = error(robust - as_is), half / 2.2  # Student's t of 12 seeds
        apart = (np.mean(robust - as_is) - known) / np.hypot(here, of_known)
        means = [f"{np.mean(one):.3f}" for one in (as_is, robust)]
        beside = [f"({one:.3f})" if one else "" for one in (known_as_is, known_robust)]
        texts = "  ".join(f"{mean} {of:7}" for mean, of in zip(means, beside, strict=True))
        print(
            f"{named(settings)} {visits:6}  {texts}  {np.mean(robust - as_is):+.3f} ({here:.3f})"
            f"   {known:+.3f} ({of_known:.3f})  {apart:+.1f}",
            flush=True,
        )


def papers(sites: Sites, seeds: int) -> None:
    print(f"\n{HEAD} visits  before (known)   as the paper has it, or chosen (se; known)")
    for settings, visits, curve, known_before, known in PAPERS:
        before, now = np.transpose(
            [
                [
                    of_values(site, Clipped(), log, PENALTY),
                    of_values(site, learners.DoublyRobust(curve=curve), log),
                ]
                for site, log in sites.drawn(settings, visits, seeds)
            ]
        )
        print(
            f"{named(settings)} {visits:6}  {np.mean(before):.3f} ({known_before:.3f})    "
            f"{np.mean(now):.3f} ({error(now):.3f}; {known:.3f})",
            flush=True,
        )
    for settings, known_before, known in GRADES:
        site = sites.at(settings)
        values = np.concatenate(site.world.grades).astype(float)
        penalty = fitting.chosen_penalty(site.documents, values)
        before, now = (
            run.held_out(site, fitting.penalised(site.documents, values, one))
            for one in (PENALTY, penalty)
        )
        print(
            f"{named(settings)} grades  {before:.3f} ({known_before:.3f})    "
            f"{now:.3f} at {penalty:g} ({known:.3f})"
        )


def premises(sites: Sites, seeds: int) -> None:
    print(f"\n{HEAD} limit of item-position's error, lists of three (known)")
    for settings, known in LIMITS:
        site = sites.at(settings | LEAVE | {"places": 3})
        limit, truth = learners.ItemPosition().limit(site), site.world.clicks_of(site.target)
        print(f"{named(settings | LEAVE)} {limit.sum() / truth.sum() - 1:.4f} ({known})")
    print(
        f"\n{HEAD} root mean squared error, 10,000 visits (se), known (se), apart: of both weights"
    )
    for settings, *known in ERRORS:
        squares = []
        for site, log in sites.drawn(settings | {"places": 3}, 10_000, 10 * seeds):
            truth = site.world.clicks_of(site.target).sum()
            of = [one().of(log, site).clicked for one in (learners.ItemPosition, learners.Pooled)]
            squares.append([(terms.sum(axis=1).mean() / truth - 1) ** 2 for terms in of])
        texts = []
        for of_one, (one, of_known) in zip(np.transpose(squares), known, strict=True):
            root = np.sqrt(np.mean(of_one))
            here = error(of_one) / (2 * root)
            apart = (root - one) / np.hypot(here, of_known)
            texts.append(f"{root:.3f} ({here:.3f})  {one:.3f} ({of_known:.3f})  {apart:+.1f}")
        print(f"{named(settings)} {'    '.join(texts)}", flush=True)


def safe(sites: Sites, seeds: int) -> None:
    print(f"\n{HEAD} visits  deployed  fewer clicks  worse on others  (earlier rule did harm in)")
    for settings, visits, known in SAFE:
        counts = np.zeros(3, int)
        for site, log in sites.drawn(settings, visits, 2 * seeds):
            weights, stays = learners.Safe().ranker(log, site, None), site.logging_ranker
            clicks = [site.world.clicks_of(site.sorts_by(one)).sum() for one in (weights, stays)]
            deployed = (weights != stays).any()
            loss = run.held_out(site, stays) - run.held_out(site, weights)
            counts += deployed, clicks[0] < clicks[1], loss > 0.005
        texts = "  ".join(f"{count:2} of {2 * seeds}" for count in counts)
        print(f"{named(settings)} {visits:6}  {texts}  ({known})", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--streams", type=Path, default=Path("results/rankings/streams"))
    parser.add_argument("--seeds", type=int, default=12)
    asked = parser.parse_args()
    sites = Sites(asked.streams)
    for table in (strength, papers, premises, safe):
        table(sites, asked.seeds)


if __name__ == "__main__":
    main()
