"""For practitioners: which policy would have earned more clicks, according to their own logs."""
