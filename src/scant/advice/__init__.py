"""For practitioners: which policy would have earned more clicks, from logs of one's own."""
