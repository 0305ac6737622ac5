"""What is wrong with a log that can be read, and doubts about what it says."""
