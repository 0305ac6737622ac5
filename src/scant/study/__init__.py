"""A study: its settings, checked and completed, and the jobs that follow from them."""
