"""Bounds of the papers as functions."""
