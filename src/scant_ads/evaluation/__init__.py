"""Policies judged on a log: estimates, intervals, decisions between policies and their verdicts."""
