"""Two finished studies side by side, what made them, and the references that a study is held to."""
