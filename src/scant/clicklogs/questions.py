"""What studies of click logs answer on their pages."""

from scant.declare.families import Answer, Question

RANKINGS = (
    Question(
        "premises",
        "Which premise on users does it take to judge a ranker by another one's clicks?",
        ("rankings-premise-*", "rankings-bounds-*"),
        ("figure-premises",),
        (
            Answer(
                "rankings-premise-leaving",
                "Where users leave once they have clicked, item-position weights",
                "put a better ranker's clicks more than 0.1 of the truth too high",
                "put a better ranker's clicks at most 0.1 of the truth too high",
            ),
            Answer(
                "rankings-premise-item-position",
                "Where users look by place, item-position weights",
                "come within 0.05 of another ranker's true clicks",
                "are more than 0.05 off another ranker's true clicks",
            ),
        ),
    ),
    Question(
        "click-logs",
        "What can be learnt from a click log?",
        ("rankings-learn-*",),
        ("figure-learning",),
        (
            Answer(
                "rankings-learn-bias",
                "A ranker learnt doubly robustly",
                "is ahead of one learnt from the clicks as they are",
                "is behind one learnt from the clicks as they are",
            ),
            Answer(
                "rankings-learn-grades",
                "A ranker learnt doubly robustly from clicks",
                "comes within 0.01 of one learnt from grades",
                "stays more than 0.01 behind one learnt from grades",
            ),
        ),
    ),
)
