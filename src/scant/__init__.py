"""Reproducible benchmark studies of learning to rank from scant feedback."""

__version__ = "0.1.0"
