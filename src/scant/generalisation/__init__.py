"""Generalisation: how far what is learnt from n queries is from the best.

`family.py` declares it.
"""
