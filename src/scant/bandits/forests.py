"""Random forests of clicks, or of other rewards: scikit-learn grows their trees one by one, kept as
arrays.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Trees:
    """A forest as arrays, one tree after another; see `scant.kernels.trees.average`."""

    roots: np.ndarray  # int64 (trees)
    left: np.ndarray  # int32 (nodes)
    right: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray  # float64 (nodes)
    value: np.ndarray  # float64 (nodes), the mean reward: the share of clicks

    def mean_reward(self, features: np.ndarray) -> np.ndarray:
        """The expected reward, averaged over trees, float64 (rows), from finite features (rows x
        d).
        """
        from scant.kernels.trees import average

        features = np.ascontiguousarray(features, np.float32).view()
        # as features from files are, so that the loop is compiled once
        features.flags.writeable = False
        arrays = (self.roots, self.left, self.right, self.feature, self.threshold, self.value)
        return average(features, *arrays)


def grow(
    features: np.ndarray, rewards: np.ndarray, trees: int, rows: int, leaf: int, seed: int
) -> Trees:
    """The forest that scikit-learn's `RandomForestClassifier(trees, min_samples_leaf=leaf,
    max_samples=rows)` grows.

    For rewards other than clicks it is the forest of `RandomForestRegressor`, also with
    `max_features="sqrt"`.

    It is grown here, tree by tree with the same random numbers: for many forests of few rows,
    scikit-learn spends more time around the trees than on growing them.

    Parameters
    ----------
    features : finite float32 (rows x d)
    rewards : bool (rows), clicks; or float64 (rows). Both have different values
    rows : how many rows each tree learns from, drawn with replacement
    leaf : the least number of rows in a leaf, copies not counted
    seed : `random_state` of the forest
    """
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    # one for all: to seed it anew takes far less than to make another
    random = np.random.RandomState(seed)
    kind, target, parts, nodes = DecisionTreeRegressor, rewards, [], [0]
    if rewards.dtype == bool:
        # whole numbers are what it checks fastest
        kind, target = DecisionTreeClassifier, rewards.view(np.int8)
    for state in random.randint(np.iinfo(np.int32).max, size=trees).tolist():
        random.seed(state)
        copies = np.bincount(
            random.randint(0, len(target), rows, dtype=np.int32), minlength=len(target)
        )
        random.seed(state)  # the tree, too, draws from the beginning
        tree = kind(max_features="sqrt", min_samples_leaf=leaf, random_state=random)
        tree.fit(features, target, copies, check_input=False)
        parts.append(_arrays(tree.tree_, nodes[-1]))
        nodes.append(nodes[-1] + tree.tree_.node_count)
    return Trees(np.array(nodes[:-1]), *map(np.concatenate, zip(*parts, strict=True)))


def _arrays(tree, root: int) -> tuple[np.ndarray, ...]:
    """One of scikit-learn's trees as left, right, feature, threshold and value of `Trees`; `root`
    is its first node.
    """
    has_children = tree.children_left >= 0
    left = np.where(has_children, tree.children_left + root, -1).astype(np.int32)
    right = np.where(has_children, tree.children_right + root, -1).astype(np.int32)
    feature = np.maximum(tree.feature, 0).astype(np.int32)
    threshold = np.where(has_children, tree.threshold, 0.0)
    return left, right, feature, threshold, tree.value[:, 0, -1].copy()
