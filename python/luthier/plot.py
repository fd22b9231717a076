"""Pictures of what was learned, by matplotlib. Each function draws into `ax` and returns it."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np

from ._types import ArrayLike
from .errors import Error

_BAR, _LINE = "#4c78a8", "#f58518"


def _axes(ax, count=1, **how):
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("luthier.plot needs matplotlib") from None
    return pyplot.subplots(1, count, layout="constrained", **how)[1]


def orders(model: Any, ax: Any = None, shares: bool = True) -> Any:
    """How much each order of the string kernel counts.

    Parameters
    ----------
    model : GPRegressor or GPClassifier
        Fitted, with a string kernel.
    shares : bool
        Shares of the mean k(x, x); False shows the weights themselves.
    """
    values = model.order_shares_ if shares else model.order_weights_
    if len(values) == 0:
        raise Error("this model has no string kernel")
    ax = _axes(ax)
    ax.bar(np.arange(1, len(values) + 1), values, color=_BAR)
    ax.set_xticks(np.arange(1, len(values) + 1))
    ax.set(xlabel="order (units in a subsequence)",
           ylabel="share of the mean k(x, x)" if shares else "weight")
    return ax


def symbols(model: Any, ax: Any = None, most: int = 20) -> Any:
    """The decays that a tree kernel with ``symbols=`` learned, largest first.

    Parameters
    ----------
    most : int
        Only the symbols with the most nodes are shown.
    """
    known = sorted(model.symbols_, key=lambda s: -s["nodes"])[:most]
    if not known:
        raise Error("this model has no symbols with parameters of their own")
    known.sort(key=lambda s: s["decay"])
    ax = _axes(ax)
    ax.barh(range(len(known)), [s["decay"] for s in known], color=_BAR)
    ax.set_yticks(range(len(known)), [f"{s['symbol']} ({s['nodes']})" for s in known])
    ax.set(xlabel="decay", ylabel="symbol (nodes in the training trees)")
    return ax


def predictions(y: ArrayLike, mean: ArrayLike, sd: Optional[ArrayLike] = None,
                ax: Any = None) -> Any:
    """Predicted against true values, with 95% intervals if `sd` is given."""
    y, mean = np.asarray(y, dtype=float), np.asarray(mean, dtype=float)
    if y.ndim != 1 or y.shape != mean.shape:
        raise Error(f"y and mean want the same length: {y.shape}, {mean.shape}")
    ax = _axes(ax)
    if sd is not None:
        ax.errorbar(y, mean, yerr=1.959964 * np.asarray(sd), fmt="none", ecolor=_BAR, alpha=0.35,
                    elinewidth=1, label="95% interval")
    ax.scatter(y, mean, s=14, color=_BAR, zorder=3)
    ends = [min(y.min(), mean.min()), max(y.max(), mean.max())]
    ax.plot(ends, ends, color=_LINE, linewidth=1, label="true = predicted")
    ax.set(xlabel="true", ylabel="predicted")
    ax.legend(frameon=False)
    return ax


def _inside(y, mean, sd, cdf):
    """Of each row the probability of the central interval that just reaches y."""
    if cdf is not None:
        cdf = np.asarray(cdf, dtype=float)
        if cdf.ndim != 1 or not len(cdf):
            raise Error(f"cdf wants one number for each row, not the shape {cdf.shape}")
        return abs(2 * cdf - 1)
    y, mean, sd = (np.asarray(a, dtype=float) for a in (y, mean, sd))
    if not y.shape == mean.shape == sd.shape or y.ndim != 1 or not len(y):
        raise Error(f"y, mean and sd want the same length: {y.shape}, {mean.shape}, {sd.shape}")
    # The interval of probability p reaches out to |z|: p = erf(|z| / sqrt 2).
    from math import erf
    return np.array([erf(abs(z) / 2**0.5) for z in (y - mean) / sd])


def calibration(y: Optional[ArrayLike] = None, mean: Optional[ArrayLike] = None,
                sd: Optional[ArrayLike] = None, ax: Any = None, *,
                cdf: Optional[ArrayLike] = None) -> Any:
    """The share of true values inside of intervals of every width: the diagonal is ideal.

    Parameters
    ----------
    y, mean, sd : array-like
        The truth and what was predicted, with normal noise.
    cdf : array-like, optional
        Instead of these, for any likelihood: ``model.cdf(X, y)``.
    """
    inside = np.sort(_inside(y, mean, sd, cdf))
    count = len(inside)
    ax = _axes(ax)
    ax.plot([0, 1], [0, 1], color=_LINE, linewidth=1, label="ideal")
    ax.step([0, *inside, 1], [*np.arange(count + 1) / count, 1], where="post", color=_BAR,
            label="found")
    ax.set(xlabel="probability of the interval", ylabel="share of values inside", xlim=(0, 1),
           ylim=(0, 1), aspect="equal")
    ax.legend(frameon=False)
    return ax


def pit(cdf: ArrayLike, ax: Any = None, bins: int = 20) -> Any:
    """Histogram of the probability below each true value, ``model.cdf(X, y)``: level where the
    model is honest, a hill where it is too unsure, a valley where it is too sure."""
    cdf = np.asarray(cdf, dtype=float)
    if cdf.ndim != 1 or not len(cdf) or not ((cdf >= 0) & (cdf <= 1)).all():
        raise Error("cdf wants one probability for each row")
    ax = _axes(ax)
    ax.hist(cdf, bins=np.linspace(0, 1, bins + 1), density=True, color=_BAR, rwidth=0.9)
    ax.axhline(1, color=_LINE, linewidth=1, label="ideal")
    ax.set(xlabel="probability below the true value", ylabel="density", xlim=(0, 1))
    ax.legend(frameon=False)
    return ax


def _told(design, target):
    """(rounds, values) of a target."""
    if target not in design.targets:
        raise Error(f"target wants one of {', '.join(design.targets)}, not {target!r}")
    if design.objective[target] == "label":
        raise Error("labels have no best so far")
    found = design._all()
    known = ~np.isnan(found["round"]) & ~np.isnan(found[target])
    if not known.any():
        raise Error("nothing was measured yet")
    return found["round"][known].astype(int), found[target][known]


def rounds(design: Any, ax: Any = None, target: Any = None) -> Any:
    """The best so far of a design, round by round, and all that was measured.

    Parameters
    ----------
    target : str, optional
        One of several; None = the first.
    """
    target = target or design.targets[0]
    at, y = _told(design, target)
    smallest = design.objective[target] == "min"
    numbers, (best, further) = np.unique(at), (np.min, np.minimum) if smallest else (
        np.max, np.maximum)
    reached = further.accumulate([best(y[at == n]) for n in numbers])
    ax = _axes(ax)
    ax.scatter(at, y, s=14, color=_BAR, alpha=0.6, label="measured")
    ax.step(numbers, reached, where="mid", color=_LINE, label="best so far")
    ax.set(xlabel="round", ylabel=target)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.legend(frameon=False)
    return ax


def design(design: Any, axes: Any = None) -> Any:
    """Three pictures of a `Design`: `rounds`; `predictions`, as they were when a row was asked
    for, against what came out; and their `calibration`. Returns the Axes; `axes` are three."""
    _told(design, design.targets[0])  # raises before there is an empty picture
    axes = _axes(axes, 3, figsize=(12, 4))
    rounds(design, axes[0])
    y, mean, sd = design._foretold()
    if len(y):
        predictions(y, mean, sd, axes[1])
        calibration(y, mean, sd, axes[2])
    axes[1].set(xlabel="measured", ylabel="expected")
    return axes


def evidence(model: Any, ax: Any = None) -> Any:
    """How the evidence rose, a line for each start of the optimiser."""
    trace = model.trace_
    if len(trace) == 0:
        raise Error("this model has no trace: it was read from a file, or nothing was learned")
    ax = _axes(ax)
    starts = np.unique(trace["start"])
    for start in starts:
        steps = trace[trace["start"] == start]
        first = start == starts[0]
        ax.plot(steps["iteration"], steps["evidence"], marker=".", linewidth=1,
                color=_BAR if first else "0.6", zorder=3 if first else 2,
                label="informed start" if first else "scrambled starts" if start == starts[1]
                else None)
    low = np.quantile(trace["evidence"], 0.1)
    ax.set(xlabel="iteration", ylabel="log evidence")
    ax.set_ylim(bottom=low - 0.1 * (trace["evidence"].max() - low))
    ax.legend(frameon=False)
    return ax
