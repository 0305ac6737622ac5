"""Features of a user's log as numbers: texts one-hot encoded, missing numbers filled in, as learnt from one log."""

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np

from scant.data.logs import Log
from scant.data.visits import Visits
from scant.errors import DataError

MOST = 32  # columns that a text feature becomes, at most: its frequent texts have one each, all others share one
SAMPLE = 1 << 17  # rows from which medians are taken


@dataclass(frozen=True)
class Encoder:
    """Turns the features of any log with the same columns into numbers; a part of a learnt policy.

    names : of the features, as they came
    texts : by text feature, the texts of the training log
    numeric : indices of the other features
    lacking : indices of those of which the training log lacks values; each has a column that says where
    imputer : scikit-learn's; a missing number becomes the median
    one_hot : scikit-learn's, of the codes of texts; None without text features. A text that the training log lacks is
        one of the rare ones, or 0 in all columns if there are none
    encoded : names of the encoded features: numbers, then what is missing, then texts
    """

    names: tuple[str, ...]
    texts: Mapping[str, tuple[str, ...]]
    numeric: np.ndarray
    lacking: np.ndarray
    imputer: object
    one_hot: object
    encoded: tuple[str, ...]

    def transform(self, visits: Visits, where="log") -> Log:
        """The log with encoded features; its `features` are those of `visits` themselves if nothing is to be done.

        visits : a log whose features have these names, in this order

        Raises
        ------
        DataError : a feature is text in one of the logs, and numbers in the other
        """
        if odd := sorted(self.texts.keys() ^ visits.categories.keys()):
            kinds = ("text", "numbers") if odd[0] in visits.categories else ("numbers", "text")
            reason = f"feature {odd[0]!r} is {kinds[0]} here, and {kinds[1]} in the training log"
            raise DataError(where, reason, advice=f"Take it as text in both with --categorical {odd[0]}")
        features = visits.features
        if self.texts or len(self.lacking) or np.isnan(features).any():
            numbers = features[:, self.numeric]
            missing = np.isnan(features[:, self.lacking]).astype(np.float32)
            filled = self.imputer.transform(numbers) if len(self.numeric) else numbers
            parts = [filled.astype(np.float32, copy=False), missing]
            if self.texts:
                parts.append(self.one_hot.transform(_codes(visits, self.texts)))
            features = np.concatenate(parts, axis=1)
        columns = {part.name: getattr(visits, part.name) for part in fields(Log)}
        return Log(**columns | {"features": features, "names": self.encoded})


def fit(visits: Visits) -> Encoder:
    """Learn from a training log how to encode features."""
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder

    texts = {name: visits.categories[name] for name in visits.names if name in visits.categories}
    numeric = np.array([at for at, name in enumerate(visits.names) if name not in texts], int)
    missing = visits.missing
    lacking = np.array([at for at, name in enumerate(visits.names) if name in missing], int)
    imputer = SimpleImputer(strategy="median", keep_empty_features=True, copy=False)
    if len(numeric):
        imputer.fit(visits.features[:: max(1, len(visits) // SAMPLE), numeric])
    names = [visits.names[at] for at in numeric] + [f"{visits.names[at]} is missing" for at in lacking]
    one_hot = None
    if texts:
        one_hot = OneHotEncoder(
            max_categories=MOST, handle_unknown="infrequent_if_exist", sparse_output=False, dtype=np.float32
        )
        one_hot.fit(_codes(visits, texts))
        infrequent = one_hot.infrequent_categories_
        for name, codes, rare in zip(texts, one_hot.categories_, infrequent, strict=True):
            kept = codes if rare is None else np.setdiff1d(codes, rare)
            names += [f"{name}={texts[name][code]}" for code in kept.tolist()]
            names += [f"{name}=(another)"] if rare is not None else []
    return Encoder(visits.names, texts, numeric, lacking, imputer, one_hot, tuple(names))


def _codes(visits: Visits, texts: Mapping[str, tuple[str, ...]]) -> np.ndarray:
    """The codes of text features by the texts of the training log, int32 (rows x features); -1 for another text."""
    codes = np.empty((len(visits), len(texts)), np.int32)
    for column, (name, known) in enumerate(texts.items()):
        code_of = {text: code for code, text in enumerate(known)}
        there = np.array([code_of.get(text, -1) for text in visits.categories[name]], np.int32)
        codes[:, column] = there[visits.features[:, visits.names.index(name)].astype(np.int32)]
    return codes
