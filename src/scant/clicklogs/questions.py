"""What studies of click logs answer on their pages."""

from scant.declare.families import Question

RANKINGS = (
    Question(
        "premises",
        "Which premise on users does it take to judge a ranker by another one's clicks?",
        ("rankings-premise-*", "rankings-bounds-*"),
        ("figure-premises",),
    ),
    Question(
        "click-logs",
        "What can be learnt from a click log?",
        ("rankings-learn-*",),
        ("figure-learning",),
    ),
)
