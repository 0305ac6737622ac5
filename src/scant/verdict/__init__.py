"""The claims of the papers, and the verdict on each."""
