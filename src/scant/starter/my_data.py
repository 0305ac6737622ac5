"""A format of data of yours: features (n x d), grades (n) and queries (n) from a file."""

import pandas as pd


def read(path):
    table = pd.read_csv(path)
    return table[["f1", "f2"]].to_numpy(), table["grade"], table["query"]
