"""Spaces: texts that could be measured, by a rule instead of a list."""

from __future__ import annotations

from ctypes import byref, c_char_p
from typing import List, Optional

import numpy as np

from . import _c, read
from ._context import Context, Owned, seed_of
from ._library import lib
from ._types import Random
from .errors import Error
from .model import positive


class Space:
    """Texts by a rule: ``Space("alphabet=ACGT, length=8..12")``, ``Space("from=wt.fa,
    max-mutations=4")``. docs/design.md has the words.

    ``text in space`` says whether a text belongs to it.
    """

    def __init__(self, rule: str) -> None:
        if not isinstance(rule, str) or "\0" in rule:
            raise Error(f'a space is a rule such as "alphabet=ACGT, length=8", not {rule!r}')
        self.rule = rule
        self._context = Context()
        self.pointer = self._context.create(lib.lth_space_parse, self._context.pointer,
                                            rule.encode(), in_memory=False)
        self._owned = Owned(self.pointer, lib.lth_space_free, self._context)

    def why_not(self, text: str) -> Optional[str]:
        """Why a text does not belong to it; None where it does."""
        content, why = text.encode(), c_char_p()
        if lib.lth_space_has(self.pointer, content, len(content), byref(why)):
            return None
        return (why.value or b"").decode()

    def __contains__(self, text):
        return self.why_not(text) is None

    def sample(self, count: int, random_state: Random = None) -> List[str]:
        """Different texts of it at random; fewer where there are not so many."""
        table = self._context.create(lib.lth_space_sample, self.pointer, b"text",
                                     positive(count, "count", 1), seed_of(random_state))
        owned = Owned(table, lib.lth_table_free, self._context)
        return read.columns_of(owned.pointer)["text"]

    def __reduce__(self):
        return type(self), (self.rule,)

    def __repr__(self):
        return f"Space({self.rule!r})"


def _asked(valid, texts):
    found = np.asarray(valid(texts))
    if found.shape != (len(texts),) or found.dtype.kind not in "biu":
        raise Error(f"valid wants to say True or False of each of {len(texts)} texts")
    return found.astype(bool)


def checker(context, valid):
    """(`valid` for C, in calls of a context; a list that gets what it raised)."""
    failed = []
    if valid is None:
        return _c.ValidFn(), failed

    def answer(_user, texts, count, out):
        try:
            with context.called_back():
                found = _asked(valid, [texts[i].decode() for i in range(count)])
            for i, yes in enumerate(found):
                out[i] = bool(yes)
        except BaseException as failure:
            failed.append(failure)
            return 1
        return 0

    return _c.ValidFn(answer), failed


def search_options(evaluations=None, population=None, trust=None, valid=None):
    """An ``lth_search_options``; `valid` is a `checker`'s."""
    options = _c.SearchOptions()
    lib.lth_search_options_init(byref(options))
    for name, value in (("evaluations", evaluations), ("population", population),
                        ("trust", trust)):
        if value is not None:
            setattr(options, name, positive(value, name, 1))
    if valid is not None:
        options.valid = valid
    return options
