"""Policies judged and learnt from bandit logs: what the ad studies and `scant ads` stand on."""
