"""Table B.1 of the thesis: two distributions of relevance vectors that top-1 feedback cannot tell
apart.

Their means are equal, but different rankings are best for NDCG.
"""

VECTORS = ((0, 0, 0), (1, 1, 0), (1, 0, 1), (0, 1, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1))
# Their probabilities, in twentieths.
TWENTIETHS = {"first": (0, 2, 3, 1, 4, 6, 4, 0), "second": (0, 6, 0, 0, 3, 3, 8, 0)}
