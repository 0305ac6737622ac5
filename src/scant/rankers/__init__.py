"""Contextual learners: the learners themselves, how they play a stream, and what a run records."""
