"""Choosing ads from bandit logs: logs, scorers, policies, and what can be said of a policy's click
rate.
"""
