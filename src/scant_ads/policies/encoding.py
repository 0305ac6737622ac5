"""Features of a user's log as numbers: texts one-hot encoded, missing numbers filled in, as learnt
from one log.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from shlex import quote

import numpy as np

from scant.data.logs import Log
from scant.errors import DataError
from scant_ads.reading import arrays
from scant_ads.reading.visits import Visits

# columns that a text feature becomes, at most: its frequent texts have one each, all others share
# one
MOST = 32
SAMPLE = 1 << 17  # rows from which medians are taken


@dataclass(frozen=True)
class Encoder:
    """Turns the features of any log with the same columns into numbers; a part of a learnt policy.

    names : of the features, as they came
    texts : by text feature, the texts of the training log
    numeric : indices of the other features, int (numbers)
    lacking : indices of the features of which the training log lacks values; each has a column that
        says where
    medians : float32 (numbers), what a missing number becomes
    places : by text feature, the encoded column that is 1 for each of its texts and, last, for a
        text that the training log lacks; int (texts + 1), -1 for none. Rare texts share a column,
        which texts that are unknown have, too
    encoded : names of the encoded features: numbers, then what is missing, then texts
    """

    names: tuple[str, ...]
    texts: Mapping[str, tuple[str, ...]]
    numeric: np.ndarray
    lacking: np.ndarray
    medians: np.ndarray
    places: Mapping[str, np.ndarray]
    encoded: tuple[str, ...]

    def transform(self, visits: Visits, where="log") -> Log:
        """The log with encoded features: the array of `visits` itself, if that needs no change.

        visits : a log whose features have these names, in this order
        """
        if odd := sorted(self.texts.keys() ^ visits.categories.keys()):
            kinds = ("text", "numbers") if odd[0] in visits.categories else ("numbers", "text")
            reason = f"feature {odd[0]!r} is {kinds[0]} here, and {kinds[1]} in the training log"
            raise DataError(
                where, reason, advice=f"Take it as text in both with --categorical {quote(odd[0])}"
            )
        features = visits.features
        if self.texts or len(self.lacking) or np.isnan(features).any():
            numbers, raw = features[:, self.numeric], features
            features = np.zeros((len(visits), len(self.encoded)), np.float32)
            features[:, : len(self.numeric)] = np.where(np.isnan(numbers), self.medians, numbers)
            marks = slice(len(self.numeric), len(self.numeric) + len(self.lacking))
            features[:, marks] = np.isnan(raw[:, self.lacking])
            if self.texts:
                for place, codes in zip(
                    self.places.values(), _codes(visits, self.texts).T, strict=True
                ):
                    columns = place[codes]  # the code of an unknown text, -1, takes the last place
                    rows = np.flatnonzero(columns >= 0)  # the others have no column, and all zeros
                    features[rows, columns[rows]] = 1
        columns = {part.name: getattr(visits, part.name) for part in fields(Log)}
        return Log(**columns | {"features": features, "names": self.encoded})


def fit(visits: Visits) -> Encoder:
    """Learn from a training log how to encode features, by scikit-learn's imputer and encoder."""
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder

    if not visits.names:
        advice = (
            "A policy needs something to tell users apart; ads themselves are compared by "
            "--policy each-ad"
        )
        raise DataError(
            "training log", "it has no features, so that nothing can be learnt", advice=advice
        )
    texts = {name: visits.categories[name] for name in visits.names if name in visits.categories}
    numeric = np.array([index for index, name in enumerate(visits.names) if name not in texts], int)
    missing = visits.missing
    lacking = np.array([index for index, name in enumerate(visits.names) if name in missing], int)
    medians = np.zeros(len(numeric), np.float32)
    if len(numeric):
        imputer = SimpleImputer(strategy="median", keep_empty_features=True)
        imputer.fit(visits.features[:: max(1, len(visits) // SAMPLE), numeric])
        medians = imputer.statistics_.astype(np.float32)
    places, start = {}, len(numeric) + len(lacking)
    if texts:
        one_hot = OneHotEncoder(max_categories=MOST, handle_unknown="infrequent_if_exist")
        one_hot.fit(_codes(visits, texts))
        infrequent = one_hot.infrequent_categories_
        for name, codes, rare in zip(texts, one_hot.categories_, infrequent, strict=True):
            kept = codes if rare is None else np.setdiff1d(codes, rare)
            other = -1 if rare is None else start + len(kept)
            places[name] = np.full(len(texts[name]) + 1, other)
            places[name][kept] = start + np.arange(len(kept))
            start += len(kept) + (rare is not None)
    encoded = encoded_names(visits.names, texts, numeric, lacking, places)
    return Encoder(visits.names, texts, numeric, lacking, medians, places, encoded)


def encoded_names(names, texts, numeric, lacking, places) -> tuple[str, ...]:
    """The names of encoded features; for parameters see `Encoder`."""
    encoded = [names[index] for index in numeric]
    encoded += [f"{names[index]} is missing" for index in lacking]
    for name, place in places.items():
        *columns, other = place.tolist()
        of_texts = zip(texts[name], columns, strict=True)
        encoded += [f"{name}={text}" for text, column in of_texts if column != other]
        encoded += [f"{name}=(another)"] * (other >= 0)
    return tuple(encoded)


def _codes(visits: Visits, texts: Mapping[str, tuple[str, ...]]) -> np.ndarray:
    """The codes of text features, by the texts that the training log has, int32 (rows x features);
    -1 for a text that it lacks.
    """
    codes = np.empty((len(visits), len(texts)), np.int32)
    for column, (name, labels) in enumerate(texts.items()):
        new_codes = arrays.places(visits.categories[name], labels)
        codes[:, column] = new_codes[visits.codes(name)]
    return codes
