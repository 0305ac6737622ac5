"""What studies of generalisation answer on their pages."""

from scant.declare.families import Answer, Question

GENERALISATION = (
    Question(
        "length",
        "Does the length of document lists matter?",
        ("generalisation-*",),
        ("figure-generalisation-m", "figure-generalisation-n", "figure-generalisation-gap"),
        (
            Answer(
                "generalisation-length-ranksvm",
                "RankSVM's excess risk",
                "grows with the length of lists",
                "falls with the length of lists",
            ),
            Answer(
                "generalisation-length-no-growth",
                "ListNet's and SmoothDCG's excess risk",
                "grows as length^0.05 at most",
                "grows faster than length^0.05",
            ),
            Answer(
                "generalisation-optimistic",
                "without noise, excess risk",
                "falls as n^(-1 + 0.05) or faster",
                "falls slower than n^(-1 + 0.05)",
            ),
        ),
    ),
)
