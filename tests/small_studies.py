"""Studies of a few settings, to be changed, loaded and planned."""

from functools import cache
from pathlib import Path

import yaml

from scant.schema import read_yaml
from scant.study import settings
from scant.study.plan import Plan

ROOT = Path(__file__).parents[1]
# The study files of the project, the default one first.
STUDIES = [
    "config/config.yaml",
    *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("config/studies/*.yaml")),
]


def load(config):
    return settings.load(config, ROOT / "config/datasets.yaml")


@cache
def shipped(path: str) -> tuple[dict, dict]:
    """A study file of the project, loaded once: not to be changed."""
    return load(read_yaml(ROOT / path))


def planned(config) -> Plan:
    return Plan(*load(config))


def small(**changes):
    config = yaml.safe_load("""
study: small
streams: {sim: {generator: separable}, real: {dataset: ohsumed}}
learners: {slam: {kind: slam, rates: [0.1, theory]}, random: {kind: random}}
experiments: {all: {streams: [sim, real], learners: [slam, random]}}
""")
    return config | changes


def with_top(**changes):
    """A study that has learners and an experiment at the top besides."""
    config = small()
    config["learners"] |= yaml.safe_load("""
top: {kind: rtop, surrogate: squared}
smooth: {kind: rtop, surrogate: smoothdcg}
full: {kind: ogd, surrogate: ranksvm}
listnet: {kind: listnet}
""")
    experiment = {"kind": "top", "streams": ["sim"], "learners": ["top"]}
    config["experiments"]["top"] = experiment | changes
    return config


def with_games(**changes):
    config = yaml.safe_load("""
study: games
games: {g: {stream: flip, settings: {items: 6, relevant: 2}, loss: dcg, title: G}}
learners: {top: {kind: rtopkf, k: 2, title: Top}, all: {kind: ftpl}}
experiments:
  e: {kind: fixed-items, games: [g], learners: [top, all], rounds: [100, 200], seeds: 3}
""")
    config["experiments"]["e"] |= changes
    return config


def with_ads(**changes):
    config = yaml.safe_load("""
study: ads
logs:
  digits: {dataset: digits, title: Digits}
  hotel: {campaign: hotel, settings: {share: 0.1}}
  men: {dataset: obd-men, train: bts, test: random}
learners:
  {ranker: {kind: auc-ranker, title: Ranker}, forest: {kind: forest}, oracle: {kind: oracle}}
experiments: {e: {kind: ads, logs: [digits, hotel], learners: [ranker, forest], seeds: 3}}
""")
    config["experiments"]["e"] |= changes
    return config


def put(config: dict, path: str, value) -> None:
    """Change the setting of a dotted path; None takes it away."""
    *sections, key = path.split(".")
    for section in sections:
        config = config.setdefault(section, {})
    if value is None:
        del config[key]
    else:
        config[key] = value


def settings_of_job(plan, experiment, *ids) -> dict:
    """The settings of the jobs of a place and learner."""
    found = [
        job.settings for job in plan.jobs[experiment] if tuple(job.path.split("/")[1:-1]) == ids
    ]
    assert found and all(settings == found[0] for settings in found)
    return found[0]
