"""Policies learnt from a log, saved, loaded and used on new visits."""
