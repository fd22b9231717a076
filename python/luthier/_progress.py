"""How far a long call is: a bar of tqdm where that is installed, else one line on stderr."""

import sys
import time


class StatusLine:
    """One line on stderr that is written over, six times a second at most."""

    def __init__(self, wanted):
        self._wanted, self._width, self._drawn = wanted, 0, 0.0

    def show(self, text, force=False, share=None):
        """`share`: how much of the work is done, 0 to 1, where that is known."""
        now = time.monotonic()
        if not self._wanted or (not force and now - self._drawn < 1 / 6):
            return
        self._drawn = now
        text = text if share is None else f"{text} {100 * share:.0f}%"
        print("\r" + text.ljust(self._width), end="", file=sys.stderr, flush=True)
        self._width = len(text)

    def end(self):
        if self._width:
            print(file=sys.stderr, flush=True)
            self._width = 0


class TqdmLine:
    """The same by tqdm, which has a widget for notebooks."""

    def __init__(self, tqdm):
        self._tqdm, self._bar = tqdm, None

    def _open(self, share):
        if share is None:  # nobody knows how many steps there will be
            return self._tqdm(unit=" steps", leave=False)
        return self._tqdm(total=100, leave=False, bar_format="{desc} {percentage:3.0f}%|{bar}| "
                          "{elapsed}<{remaining}")

    def show(self, text, force=False, share=None):
        if self._bar is None:
            self._bar = self._open(share)
        self._bar.set_description_str(text, refresh=force)
        self._bar.update(1 if share is None else max(0, round(100 * share) - self._bar.n))

    def end(self):
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def line(wanted):
    """What shows how far a call is, if that is wanted."""
    if wanted:
        try:
            from tqdm.auto import tqdm
            return TqdmLine(tqdm)
        except ImportError:
            pass
    return StatusLine(wanted)
