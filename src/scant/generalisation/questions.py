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
                "is flat in length, within 0.05",
                "grows with length, by over 0.05",
            ),
            Answer(
                "generalisation-optimistic",
                "without noise, excess risk",
                "falls at least as 1/n, within 0.05",
                "falls slower than 1/n, by over 0.05",
            ),
        ),
    ),
)
