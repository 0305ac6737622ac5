"""The drawing of bandits."""

import pandas as pd

from scant.present import panels, style


def curves(frame: pd.DataFrame):
    """Regret by round: a panel for each experiment and bandit, a curve and a band for each
    learner.
    """
    style.apply()
    frame = panels.named(frame)
    figure, axes = panels.grid(frame)
    looks, handles = style.looks(frame), {}
    for axis, (_, panel) in zip(axes.flat, panels.split(frame), strict=False):
        for learner, rows, look in panels.learners(panel, looks):
            handles[learner] = panels.curve(axis, rows, look, panels.alpha(looks))
        panels.head(axis, panel)
        axis.set(xlabel="round t", ylabel="regret")
    panels.legend(figure, handles, f"mean over n seeds; bands: {panels.INTERVAL}")
    return figure
