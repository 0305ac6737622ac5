"""Logs read: their files, columns and cells, and the sums that are kept of them."""
