"""Which figures and tables there are. Light to import: the workflow reads it to plan."""

SEPARABLE = ("separable", "released-code")  # generators of streams that a ranker separates
FIGURES = {  # figure: the measure, and whether it shows the separable streams
    "figure-2.1": ("ndcg@10", True),
    "figure-2.2": ("ndcg@10", False),
    "figure-2.ap": ("ap", False),
}
TABLES = ("finals", "bounds", "rates")


def figures(study: dict) -> list[str]:
    """The figures that a study's streams give something to show in."""
    shown = {
        study["streams"][stream].get("generator", "data")
        for experiment in study["experiments"].values()
        for stream in experiment["streams"]
    } - {"adversary"}
    there = {True: bool(shown & set(SEPARABLE)), False: bool(shown - set(SEPARABLE))}
    return [name for name, (_, separable) in FIGURES.items() if there[separable]]
