"""Classification sets turned into bandit logs: the class is the ad to click on (thesis, section
5.5.1).
"""

from dataclasses import dataclass

import numpy as np

from scant.data import tables
from scant.data.logs import Log
from scant.errors import DataError, SettingError

SHARE = 0.7  # of the examples, for training (thesis, section 5.5.1)


@dataclass(frozen=True)
class Labelled:
    """Examples of a classification set, each with its class."""

    features: np.ndarray  # float32 (examples x features)
    label: np.ndarray  # int32 (examples), index into classes
    classes: tuple[str, ...]
    names: tuple[str, ...]  # of the features


def read_labelled(paths) -> Labelled:
    """Read the examples of one classification table of the project, or of several in order.

    Classes are sorted as numbers if all of them are numbers, else as text.
    """
    features, label = tables.read_classification(paths)
    classes, index = np.unique(label, return_inverse=True)
    order = np.argsort(
        [int(name) for name in classes] if all(map(str.isdecimal, classes)) else classes
    )
    if len(classes) < 2:
        raise DataError(
            paths,
            f"all examples are of class {str(classes[0])!r}",
            advice="A policy needs two or more",
        )
    names = tuple(f"f{number + 1}" for number in range(features.shape[1]))
    return Labelled(
        features, np.argsort(order)[index].astype(np.int32), tuple(classes[order].tolist()), names
    )


def split(
    labelled: Labelled, random: np.random.Generator, share: float = SHARE
) -> tuple[np.ndarray, np.ndarray]:
    """Split the examples at random: indices of the training part, a `share` of them (rounded), and
    of the rest.

    As in the thesis, the parts are not stratified. In a small set a class may therefore be rare in
    the training part, and rarer still in its log, where n / K of its n examples are expected to
    become clicks; Table 5.1 counts the ads that nobody clicked on.
    """
    examples = len(labelled.label)
    train = round(share * examples)
    if not 0 < train < examples:
        raise SettingError(
            f"share is {share}; of {examples} examples it leaves a part of the split empty"
        )
    order = random.permutation(examples)
    return order[:train], order[train:]


def bandit(labelled: Labelled, random: np.random.Generator, rows: np.ndarray | None = None) -> Log:
    """The log of a uniform policy: a random class for each example, reward 1 if it is the right
    one.

    labelled : the examples
    random : the generator that draws the actions
    rows : indices of the examples in the log, such as the training part; None for all
    """
    rows = np.arange(len(labelled.label)) if rows is None else rows
    count = len(labelled.classes)
    action = random.integers(0, count, len(rows), dtype=np.int32)
    return Log(
        features=labelled.features[rows],
        action=action,
        reward=(action == labelled.label[rows]).astype(np.float64),
        propensity=np.full(len(rows), 1 / count),
        actions=labelled.classes,
        names=labelled.names,
    )


def known(labelled: Labelled, rows: np.ndarray) -> Log:
    """The log in which some examples are each shown their right class: full information (thesis,
    eq. 5.3), which no policy logged.

    rows : indices of the examples
    """
    return Log(
        features=labelled.features[rows],
        action=labelled.label[rows],
        reward=np.ones(len(rows)),
        propensity=np.ones(len(rows)),
        actions=labelled.classes,
        names=labelled.names,
    )
