"""A family of experiments of one's own: bandits. `family.py` declares it."""
