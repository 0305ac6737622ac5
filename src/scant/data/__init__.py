"""Data: the registry of sets, fetching and checking their files, reading them, and parquet
tables.
"""
