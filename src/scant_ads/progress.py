"""Lines on stderr that say what long work is at."""

import sys
import threading
import time

FIRST, AGAIN = 2.0, 10.0  # seconds after which a step is said, and said again if it still goes on


class Progress:
    """Prints the current step to stderr, from a thread of its own, if work takes over two seconds.

    Used as a context; each call names the step that begins.
    """

    def __init__(self):
        self.step, self.began, self.said = "", time.monotonic(), ("", 0.0)
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.over.set()
        self.thread.join()

    def __call__(self, step: str) -> None:
        self.step = step

    def _watch(self) -> None:
        while not self.over.wait(FIRST):
            now, (step, when) = time.monotonic(), self.said
            if self.step and (self.step != step or now - when >= AGAIN):
                print(f"{now - self.began:4.0f} s  {self.step}", file=sys.stderr, flush=True)
                self.said = self.step, now


def silent(step: str) -> None:
    """Takes the place of `Progress`, and prints nothing."""
