"""The page of a study, and what is said of it in a terminal."""
