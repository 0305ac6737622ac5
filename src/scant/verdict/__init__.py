"""The papers' claims, and the verdict on each."""
