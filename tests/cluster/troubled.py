"""A learner that ranks at random, and gets its job into trouble where a test asks for it."""

import os
import time
from pathlib import Path

import numpy as np


class Troubled:
    """Waits while trouble/NAME is there, and takes its MB; NAME.at has Slurm job and node."""

    def __init__(self, features, rate, random, name=""):
        self.random = random
        trouble = Path("trouble", name)
        if trouble.exists():
            at = trouble.with_suffix(".at")
            if not at.exists():
                at.write_text(f"{os.environ['SLURM_JOB_ID']} {os.environ['SLURMD_NODENAME']}")
            taken = np.ones((int(trouble.read_text()), 1 << 17))  # so many MB
            while trouble.exists():
                time.sleep(0.1)
            del taken

    def rank(self, features):
        return self.random.permutation(len(features))

    def learn(self, features, grades, ranking):
        return False
