"""scikit-learn's base classes, or stand-ins with what we use of them."""

import inspect

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.gaussian_process.kernels import Hyperparameter, Kernel as BaseKernel
    from sklearn.utils.metaestimators import available_if
    HAVE_SKLEARN = True
except ImportError:
    HAVE_SKLEARN = False
    from collections import namedtuple

    import numpy as np

    Hyperparameter = namedtuple("Hyperparameter", "name value_type bounds n_elements fixed")

    class available_if:
        """A method that an object has only if `check(object)` holds."""

        def __init__(self, check):
            self._check = check

        def __call__(self, method):
            self._method, self.__doc__ = method, method.__doc__
            return self

        def __set_name__(self, owner, name):
            self._name = name

        def __get__(self, instance, owner):
            if instance is None:
                return self._method
            if not self._check(instance):
                raise AttributeError(f"this {owner.__name__} has no {self._name}")
            return self._method.__get__(instance)

    class BaseEstimator:
        """Parameters are the arguments of ``__init__``, kept under the same names."""

        @classmethod
        def _get_param_names(cls):
            return sorted(name for name in inspect.signature(cls.__init__).parameters
                          if name != "self")

        def get_params(self, deep=True):
            return {name: getattr(self, name) for name in self._get_param_names()}

        def set_params(self, **params):
            for name, value in params.items():
                if name not in self._get_param_names():
                    raise ValueError(f"Invalid parameter {name!r} for {type(self).__name__}")
                setattr(self, name, value)
            return self

        def __repr__(self):
            default = inspect.signature(type(self).__init__).parameters
            shown = [f"{name}={value!r}" for name, value in self.get_params().items()
                     if value is not default[name].default]
            return f"{type(self).__name__}({', '.join(shown)})"

    class RegressorMixin:
        def score(self, X, y):
            """The share of the variance of `y` that is explained (R2)."""
            y = np.asarray(y, dtype=float)
            spread = ((y - y.mean(axis=0)) ** 2).sum()
            return float(1 - ((y - self.predict(X)) ** 2).sum() / spread)

    class ClassifierMixin:
        def score(self, X, y):
            """The share of rows whose labels are all right."""
            right = np.asarray(self.predict(X)) == np.asarray(y)
            return float((right if right.ndim == 1 else right.all(axis=1)).mean())

    class BaseKernel(BaseEstimator):
        def __ne__(self, other):
            return not self == other

        @property
        def n_dims(self):
            return self.theta.shape[0]
