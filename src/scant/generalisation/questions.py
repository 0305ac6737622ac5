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
                "does not grow with it",
                "grows with it",
            ),
            Answer(
                "generalisation-optimistic",
                "where a ranker can be perfect, excess risk with squared loss",
                "falls at least as 1/n",
                "falls more slowly than 1/n",
            ),
        ),
    ),
)
