"""Time policies in use, and their ratios to scikit-learn's own: forests from arrays, encoders, and a whole `apply`.

    python benchmarks/ads_policies.py [--rows 200000]

One thread. Times vary between machines and minutes; ratios less.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rounds import best
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from scant.advice import Policy, applying, encoding, saving
from scant.data import visits
from scant.randomness import generator

FEATURES = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=200_000)
    rows, random = parser.parse_args().rows, generator(0, "policies")

    features = random.standard_normal((rows, FEATURES), np.float32)
    forest = RandomForestClassifier(40, min_samples_leaf=20, max_samples=min(1 << 14, rows), n_jobs=1, random_state=0)
    forest.fit(features[:50_000], random.random(min(rows, 50_000)) < 0.1)
    trees = saving.Trees.of(forest)
    trees.predict_proba(features[:10])
    theirs, ours = (best(lambda one=one: one.predict_proba(features), 3) for one in (forest, trees))
    print(
        f"forest of 40 trees, {rows:,} rows: scikit-learn {theirs:.2f} s, ours {ours:.2f} s, {theirs / ours:.1f} times"
    )

    texts = np.array([f"text {number}" for number in range(50)])[random.integers(0, 50, rows)]
    table = pa.table({f"x{at}": column for at, column in enumerate(features.T)} | {"city": texts})
    for name, values in (("action", random.choice(["a", "b"], rows)), ("reward", (random.random(rows) < 0.1) * 1.0),
                         ("propensity", np.full(rows, 0.5))):  # fmt: skip
        table = table.append_column(name, pa.array(values))
    log = visits.read_frame(table).required()
    encoder = encoding.fit(log)
    codes, imputer = log.features[:, -1:], SimpleImputer(strategy="median").fit(features)
    one_hot = OneHotEncoder(
        max_categories=32, handle_unknown="infrequent_if_exist", sparse_output=False, dtype=np.float32
    )
    one_hot.fit(codes)
    theirs = best(lambda: np.concatenate([imputer.transform(features), one_hot.transform(codes)], axis=1), 3)
    ours = best(lambda: encoder.transform(log), 3)
    print(
        f"encoding of a text and 20 numbers: scikit-learn {theirs:.2f} s, ours {ours:.2f} s, {theirs / ours:.1f} times"
    )

    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(table, path := Path(folder) / "visits.parquet")
        for kind in ("logistic", "forest"):
            policy = Policy(kind, steps=20_000, lambdas=(0.1,), epsilon=0.1).fit(table)
            policy.save(saved := Path(folder) / "policy.arrow")
            loaded = Policy.load(saved)
            seconds = best(lambda loaded=loaded: applying.apply(loaded, path, Path(folder) / "out.parquet", seed=0), 2)
            print(f"apply {kind}: {seconds:.2f} s, {rows / seconds / 1e6:.2f} million visits a second")


if __name__ == "__main__":
    main()
