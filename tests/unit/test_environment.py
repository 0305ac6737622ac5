"""environment.yml holds what pyproject.toml asks for, by conda's names."""

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
# without a Qt that nothing here needs
CONDA_NAMES = {"matplotlib": "matplotlib-base", "seaborn": "seaborn-base"}
# conda-forge has none, or another name
FROM_PIP = {"playwright", "pytrec-eval-terrier", "rocrate", "vowpalwabbit"}


def pins(requirements):
    """Lower bounds by name; extras are left out, since conda's packages bring theirs."""
    parsed = [
        re.fullmatch(r"([a-z0-9-]+)(?:\[[a-z,]+\])? ?>=([0-9.]+)", one) for one in requirements
    ]
    assert all(parsed), requirements
    return {one[1]: one[2] for one in parsed}


def wanted():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    every = pins([*project["dependencies"], *project["optional-dependencies"]["test"]])
    assert project["requires-python"].startswith(">=")
    return every | {"python": project["requires-python"][2:]}


def environment():
    return yaml.safe_load((ROOT / "environment.yml").read_text())


def test_packages_and_lower_bounds_are_those_of_pyproject():
    *conda, pip = environment()["dependencies"]
    conda.remove("pip")
    wants = wanted()
    assert pins(conda) == {
        CONDA_NAMES.get(name, name): pin for name, pin in wants.items() if name not in FROM_PIP
    }
    assert pins(pip["pip"][:-1]) == {name: wants[name] for name in FROM_PIP}


def test_the_locked_versions_meet_the_bounds():
    locked = dict(
        re.findall(r"^([a-z0-9-]+)==([0-9.]+)", (ROOT / "requirements.lock").read_text(), re.M)
    )
    for name, pin in wanted().items():
        if name != "python":
            assert [*map(int, locked[name].split("."))] >= [*map(int, pin.split("."))], name
