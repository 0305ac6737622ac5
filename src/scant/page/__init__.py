"""The page of a study, and the text that commands print about it."""
