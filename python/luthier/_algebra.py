"""Sums and products of kernels: one expression, where all of them are ours."""

from __future__ import annotations

import numbers
from typing import Any

from .errors import Error


def _has_sum(expression):
    """Whether a ``+`` is outside of all brackets."""
    depth = 0
    for letter in expression:
        depth += (letter in "([") - (letter in ")]")
        if letter == "+" and depth == 0:
            return True
    return False


def _factor(expression):
    return f"({expression})" if _has_sum(expression) else expression


def _differ(a, b):
    if a is b:
        return False
    try:
        return bool(a != b)
    except ValueError:  # arrays
        return True


def _shared(a, b):
    """The other arguments of two kernels: each as given, where one of them or both give it."""
    ours, theirs = a.get_params(), b.get_params()
    out, initial = {}, type(a)("").get_params()
    for name in ours.keys() - {"expression"}:
        given = [p[name] for p in (ours, theirs) if _differ(p[name], initial[name])]
        if len(given) == 2 and _differ(*given):
            raise Error(f"the kernels have different {name}: {given[0]!r} and {given[1]!r}")
        out[name] = given[0] if given else initial[name]
    return out


class Algebra:
    """``a + b`` and ``a * b`` of kernels and numbers. With kernels of scikit-learn, and as a power,
    they are scikit-learn's, where it is installed."""

    def _joined(self, left, sign, right):
        """The kernel of an expression, or None where one side is neither ours nor a number."""
        sides = []
        for side in (left, right):
            if isinstance(side, type(self)):
                text = side.expression
            elif isinstance(side, numbers.Real) and not isinstance(side, bool):
                text = repr(float(side))
            else:
                return None
            sides.append(_factor(text) if sign == "*" else text)
        more = _shared(left, right) if all(isinstance(s, type(self)) for s in (left, right)) else {
            name: value for name, value in self.get_params().items() if name != "expression"}
        return type(self)(f" {sign} ".join(sides), **more)

    def __add__(self, other: Any) -> Any:
        out = self._joined(self, "+", other)
        return self._with_others("__add__", other) if out is None else out

    def __radd__(self, other: Any) -> Any:
        if isinstance(other, numbers.Real) and other == 0:
            return self  # so that sum([a, b, c]) is a + b + c
        out = self._joined(other, "+", self)
        return self._with_others("__radd__", other) if out is None else out

    def __mul__(self, other: Any) -> Any:
        # A number comes first, wherever it was: it is the variance of what follows.
        sides = (self, other) if isinstance(other, type(self)) else (other, self)
        out = self._joined(sides[0], "*", sides[1])
        return self._with_others("__mul__", other) if out is None else out

    def __rmul__(self, other: Any) -> Any:
        out = self._joined(other, "*", self)
        return self._with_others("__rmul__", other) if out is None else out

    def _with_others(self, operator, other):
        theirs = getattr(super(), operator, None)
        if theirs is None or not callable(other):
            return NotImplemented
        return theirs(other)
