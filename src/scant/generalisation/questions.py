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
                "the excess risk of ListNet and SmoothDCG",
                "does not grow with the length of lists, to within 0.05 of the exponent,",
                "grows with the length of lists, by more than 0.05 of the exponent,",
            ),
            Answer(
                "generalisation-optimistic",
                "the excess risk of squared loss and ListNet",
                (
                    "falls at least as 1/n, to within 0.05 of the exponent, where a ranker can be "
                    "perfect"
                ),
                (
                    "falls more slowly than 1/n, by more than 0.05 of the exponent, even where a "
                    "ranker can be perfect"
                ),
            ),
        ),
    ),
)
