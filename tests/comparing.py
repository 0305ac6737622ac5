"""How tests compare two logs."""

import numpy as np


def same(one, other):
    """Assert that two logs have the same ads, features and columns, of the same types."""
    assert (one.actions, one.names) == (other.actions, other.names)
    assert one.columns().keys() == other.columns().keys()
    for name, column in one.columns().items():
        assert column.dtype == other.columns()[name].dtype, name
        np.testing.assert_array_equal(column, other.columns()[name])
