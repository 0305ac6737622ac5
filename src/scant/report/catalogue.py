"""Which figures and tables there are. Light to import: the workflow reads it to plan."""

SEPARABLE = ("separable", "released-code")  # generators of streams that a ranker separates
FIGURES = {  # figure: the measure, and whether it shows the separable streams
    "figure-2.1": ("ndcg@10", True),
    "figure-2.2": ("ndcg@10", False),
    "figure-2.ap": ("ap", False),
}
TABLES = ("finals", "bounds", "rates")


def shown(study: dict, figure: str) -> list[str]:
    """The experiments that have a stream to show in a figure; none for a figure that there is not."""
    _, wants_separable = FIGURES.get(figure, (None, None))

    def shows(stream: str) -> bool:
        generator = study["streams"][stream].get("generator")
        return generator != "adversary" and (generator in SEPARABLE) == wants_separable

    return [name for name, one in study["experiments"].items() if any(map(shows, one["streams"]))]


def figures(study: dict) -> list[str]:
    """The figures that a study's streams give something to show in."""
    return [name for name in FIGURES if shown(study, name)]
