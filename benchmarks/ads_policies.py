"""Time policies, and their ratios to scikit-learn's own: fits, forests from arrays, encoders, and a whole `apply`.

    python benchmarks/ads_policies.py [--rows 200000]

Processor time. A fit is from a table of 20 numbers and a text to a policy for two ads, with a given lambda;
scikit-learn's is a pipeline for each ad of imputer, scaler, encoder and estimator with the same settings. AUC is that
of both on new visits that were shown the first ad. Times vary between machines and minutes; ratios less.
"""

import argparse
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rounds import best
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from scant.ads import forests
from scant.randomness import generator
from scant_ads import Policy
from scant_ads.policies import applying, encoding
from scant_ads.reading import formats

FEATURES = 20
LAMBDA, STEPS = 0.01, 1_000_000  # of the fits
best = partial(best, clock=time.process_time)


def visits_of(rows: int, random) -> pa.Table:
    """Visits of 20 numbers and a text of 50 values; clicks, a tenth or so, depend on some of them."""
    features = random.standard_normal((rows, FEATURES), np.float32)
    city, ad = random.integers(0, 50, rows), random.integers(0, 2, rows)
    score = features[:, :5] @ np.array([1, -1, 0.5, 0.5, 1]) * (2 * ad - 1) / 2 + (city % 7 == 0) - 2.8
    table = pa.table({f"x{at}": column for at, column in enumerate(features.T)})
    table = table.append_column("city", pa.array(np.array([f"text {number}" for number in range(50)])[city]))
    for name, values in (("action", np.array(["a", "b"])[ad]), ("propensity", np.full(rows, 0.5)),
                         ("reward", (random.random(rows) < 1 / (1 + np.exp(-score))) * 1.0)):  # fmt: skip
        table = table.append_column(name, pa.array(values))
    return table


def theirs_of(kind: str, table: pa.Table) -> dict:
    """A fitted pipeline of scikit-learn for each ad, from the table."""
    frame, fitted = table.to_pandas(), {}
    names = [f"x{at}" for at in range(FEATURES)]
    for ad, visits_of_ad in frame.groupby("action"):
        rows = len(visits_of_ad)
        estimator = {
            "logistic": lambda rows=rows: SGDClassifier(
                loss="log_loss", alpha=LAMBDA, max_iter=STEPS // rows, tol=None, average=True, random_state=0
            ),
            "logistic, exact": lambda rows=rows: LogisticRegression(C=1 / (LAMBDA * rows)),
            "cost-sensitive-oaa": lambda rows=rows: Ridge(LAMBDA * rows),
            "forest": lambda: RandomForestClassifier(40, min_samples_leaf=20, max_samples=1 << 14, random_state=0),
        }[kind]()
        encoded = make_column_transformer(
            (SimpleImputer(strategy="median"), names),
            (OneHotEncoder(max_categories=32, handle_unknown="infrequent_if_exist", sparse_output=False), ["city"]),
        )
        scaler = [] if kind == "forest" else [StandardScaler()]
        fitted[ad] = make_pipeline(encoded, *scaler, estimator).fit(visits_of_ad, visits_of_ad["reward"])
    return fitted


def fits(rows: int, random) -> None:
    """Print the seconds of each kind's fit beside scikit-learn's, and how well both order new visits of an ad."""
    table, new = visits_of(rows, random), visits_of(50_000, random)
    frame = new.filter(np.array(new["action"].to_pylist()) == "a").to_pandas()

    def judged(pipelines) -> float:
        pipeline = pipelines["a"]
        score = getattr(pipeline, "predict_proba", None) or pipeline.predict
        score = score(frame)
        return roc_auc_score(frame["reward"], score if score.ndim == 1 else score[:, 1])

    def judged_ours(policy) -> float:
        encoder = policy.learnt.encoder
        features = encoder.transform(formats.read_frame(pa.Table.from_pandas(frame)).required()).features
        fit = policy.learnt.fitted
        return roc_auc_score(frame["reward"], fit.model.scores(features[:, fit.seen])[:, 0])

    print(f"fits to {rows:,} visits: seconds, AUC; scikit-learn's; how many times ours")
    for kind, theirs in (("logistic", "logistic"), ("logistic", "logistic, exact"), ("forest", "forest"),
                         ("cost-sensitive-oaa", "cost-sensitive-oaa"), ("auc-ranker", None)):  # fmt: skip
        policy = Policy(kind, steps=STEPS, lambdas=(LAMBDA,))
        ours = best(lambda policy=policy: policy.fit(table), 2)
        line = f"  {theirs or kind:20} {ours:6.2f} {judged_ours(policy):6.3f}"
        if theirs:
            seconds = best(lambda theirs=theirs: theirs_of(theirs, table), 2)
            line += f" {seconds:8.2f} {judged(theirs_of(theirs, table)):6.3f} {seconds / ours:7.1f}"
        print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=200_000)
    rows, random = parser.parse_args().rows, generator(0, "policies")
    fits(rows, generator(0, "fits"))

    features = random.standard_normal((rows, FEATURES), np.float32)
    learnt, clicked, drawn = features[:50_000], random.random(min(rows, 50_000)) < 0.1, min(1 << 14, rows, 50_000)
    forest = RandomForestClassifier(40, min_samples_leaf=20, max_samples=drawn, n_jobs=1, random_state=0)
    forest.fit(learnt, clicked)
    trees = forests.grow(learnt, clicked, 40, drawn, 20, 0)
    trees.mean_reward(features[:10])
    theirs, ours = (best(partial(predict, features), 3) for predict in (forest.predict_proba, trees.mean_reward))
    print(
        f"forest of 40 trees, {rows:,} rows: scikit-learn {theirs:.2f} s, ours {ours:.2f} s, {theirs / ours:.1f} times"
    )

    table = visits_of(rows, random)
    log = formats.read_frame(table).required()
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
