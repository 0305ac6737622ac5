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
                "item-position weights, where users leave,",
                "overestimate by more than 0.1",
                "overestimate by at most 0.1",
            ),
            Answer(
                "rankings-premise-curve",
                "knowing how often places are looked at",
                "lowers the error",
                "raises the error",
            ),
        ),
    ),
    Question(
        "click-logs",
        "When does it pay to correct clicks for places before one learns from them?",
        ("rankings-learn-*",),
        ("figure-strength", "figure-learning"),
        (
            Answer(
                "rankings-learn-bias",
                "correcting a weak ranker's clicks",
                "adds more than 0.01 of NDCG@10",
                "adds at most 0.01 of NDCG@10",
            ),
            Answer(
                "rankings-learn-cost",
                "correcting a strong ranker's clicks",
                "loses NDCG@10",
                "gains NDCG@10",
            ),
        ),
    ),
)
