"""Contextual learners: what they are, how one plays a stream, and what a run records."""
