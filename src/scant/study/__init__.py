"""A study: its settings, checked and completed, and the jobs that they amount to."""
