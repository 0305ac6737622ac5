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
                "where users leave once they have clicked, item-position weights",
                "put a better ranker's clicks more than 0.1 of the truth too high",
                "put a better ranker's clicks at most 0.1 of the truth too high",
            ),
            Answer(
                "rankings-premise-curve",
                "where users look by place, knowing how often each place is looked at",
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
                "where a weak ranker logs, correcting 10,000 visits for places",
                "adds more than 0.01 of NDCG@10 on other queries",
                "adds at most 0.01 of NDCG@10 on other queries",
            ),
            Answer(
                "rankings-learn-cost",
                "where a strong ranker logs, correcting 1,000 visits for places",
                "loses NDCG@10 on other queries",
                "gains NDCG@10 on other queries",
            ),
        ),
    ),
)
