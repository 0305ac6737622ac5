"""A table of yours, and a figure that draws it."""

from scant.declare.families import Shown


def updates(traces, details):
    last = traces[traces["round"] == traces["round"].max()]
    shares = last.assign(share=last["updates"] / last["round"])
    return shares.groupby(["experiment", "stream", "learner"], as_index=False)["share"].mean()


def bars(frame):
    import matplotlib.pyplot as plt  # here, since tables are made without it

    figure, axis = plt.subplots(layout="constrained")
    axis.barh(frame["learner"] + " on " + frame["stream"], frame["share"])
    axis.set_xlabel("share of rounds with an update")
    return figure


CAPTION = "The share of rounds with an update, over all rates and seeds."
FIGURE = Shown(
    "figure-my-updates",
    CAPTION,
    "my_figure:updates",
    "my_figure:bars",
    heading="How often do learners update?",
)
TABLE = Shown("my-updates", CAPTION, "my_figure:updates")
