"""Kernels over strings and trees, learned from data.

    >>> import luthier as lt
    >>> m = lt.GPRegressor("ssk(text, order=2)").fit(texts, y)
    >>> mean, sd = m.predict(new_texts, return_std=True)
"""

from ._library import lib as _lib
from ._prior import align
from ._ranks import rank
from .compare import compare
from .design import Design
from .errors import Error, LuthierWarning, NotFittedError
from .explain import Explanation
from .given import Precomputed
from .gp import GPClassifier, GPRegressor
from .kernel import Kernel
from .model import load
from .proposals import Proposals, propose, search
from .quality import label_metrics, metrics
from .read import read_table
from .spaces import Space
from .svm import SVC, SVR
from .validate import CrossValidation, cross_validate

__version__ = _lib.lth_version().decode()
__all__ = ["GPClassifier", "GPRegressor", "Kernel", "Precomputed", "SVC", "SVR", "CrossValidation",
           "Design", "Proposals", "Space", "Explanation", "Error", "LuthierWarning",
           "NotFittedError", "align", "compare", "cross_validate", "label_metrics", "load", "metrics",
           "propose", "rank", "read_table", "search"]
