"""What studies of generalisation answer on their pages."""

from scant.families import Answer, Question

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
                "does not grow with the length of lists",
            ),
            Answer(
                "generalisation-length-no-growth",
                "the excess risk of ListNet and SmoothDCG",
                "does not grow with the length of lists",
                "grows with the length of lists",
            ),
            Answer(
                "generalisation-optimistic",
                "excess risk with squared loss",
                "falls at least as 1/n where a ranker can be perfect",
                "falls more slowly than 1/n even where a ranker can be perfect",
            ),
        ),
    ),
)
