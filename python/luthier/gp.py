"""Gaussian processes: regression and classification."""

from __future__ import annotations

import os
from ctypes import byref, c_double, c_void_p, sizeof
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import _c, labels, model, rows, tables
from ._compat import ClassifierMixin, RegressorMixin
from ._library import lib
from ._progress import StatusLine, line as progress
from ._types import Array, ArrayLike, Column, KernelLike, PathLike, Random, Rows
from .errors import Error
from .kernel import expression_of
from .learned import Learned
from .predicted import Predicted

_OF_LABELS = {"logit": 0, "probit": 1, "softmax": 10}
_OF_NUMBERS = {name: i + 2 for i, name in enumerate(
    ("gaussian", "student", "warped", "censored", "ordinal", "poisson", "negbinomial", "beta"))}
_POINTS = ("mean", "median")
_REGRESSION, _CLASSIFICATION = 1, 2
_POSTERIORS = ("auto", "exact", "cg", "inducing", "laplace", "sites")
_BOUNDS = {None: 0, "fitc": 1, "titsias": 2}
_STORES = ("double", "single", "disk")


class _GP(Learned, model.Model):
    _api = "gp"
    journal: Optional[PathLike] = None  # of pickles that do not tell

    def _options(self, line, steps, context):
        options = _c.GpOptions()
        lib.lth_gp_options_init(byref(options))
        options.max_iter = model.positive(self.max_iter, "max_iter")
        options.restarts = model.positive(self.restarts, "restarts")
        options.learn = bool(self.learn)
        options.intervals = bool(self.intervals)
        if self.average is not None:
            options.average = model.positive(self.average, "average", 2)
        options.mean = None if self.mean is None else self._mean().encode()
        options.journal = None if self.journal is None else os.fsencode(self.journal)
        self._set_posterior(options)
        options.fix, options.fix_count = model.strings(self.fix, "fix")
        priors = [f"{path}={median},{sd}" for path, (median, sd) in self._priors()]
        options.prior, options.prior_count = model.strings(priors, "prior")
        starts = options.restarts + 1

        def on_step(_, step):
            at = step.contents
            if steps and steps[-1][:2] == (at.start, at.iteration):
                return int(context.stopping)  # after the search: intervals, draws
            steps.append((at.start, at.iteration, at.evaluations, at.evidence, at.gradient,
                          at.seconds))
            line.show(f"start {at.start + 1} of {starts}, iteration {at.iteration}, evidence "
                      f"{at.evidence:.6g}, gradient {at.gradient:.2g}, {at.seconds:.1f} s")
            return int(context.stopping)

        options.step = _c.GpStepFn(on_step)
        return options

    def _set_posterior(self, options):
        if self.posterior not in _POSTERIORS:
            raise Error(f"posterior wants one of {', '.join(_POSTERIORS)}, not {self.posterior!r}")
        if self.bound not in _BOUNDS:
            raise Error(f'bound wants None, "fitc" or "titsias", not {self.bound!r}')
        options.gram = None if self.gram is None else os.fsencode(self.gram)
        options.posterior = _POSTERIORS.index(self.posterior)
        options.bound = _BOUNDS[self.bound]
        if self.inducing is not None:
            options.inducing = model.positive(self.inducing, "inducing")
            if self.posterior == "auto":
                options.posterior = _POSTERIORS.index("inducing")
        if self.learn_rows == "all":
            options.learn_rows = _c.NONE
        elif self.learn_rows is not None:
            options.learn_rows = model.positive(self.learn_rows, "learn_rows")

    def _mean(self):
        if not isinstance(self.mean, str) or not self.mean or "\0" in self.mean:
            raise Error(f'mean wants a sum of columns such as "zs + f1..f17", not {self.mean!r}')
        return self.mean

    def _priors(self):
        try:
            pairs = [(path, tuple(map(float, pair))) for path, pair in (self.prior or {}).items()]
            if all(len(pair) == 2 for _, pair in pairs):
                return pairs
        except (AttributeError, TypeError, ValueError):
            pass
        raise Error('prior wants {path: (median, sd of the logarithm)}, as {"ssk.gap": (0.5, 1)}, '
                    f"not {self.prior!r}")

    def _fit(self, X, y, known):
        X, y, known = rows.of_some_weight(X, y, known)
        context, parsed, columns, targets, more = self._task(X, y, known)
        steps, line = [], progress(self.verbose and context.is_first)
        options = self._options(line, steps, context)
        _table, arguments = self._arguments(context, parsed, columns, targets, options, more)

        def take(pointer):
            self.trace_ = np.array(steps, dtype=[(name, "i8" if kind is _c.c_size_t else "f8")
                                                 for name, kind in _c.GpStep._fields_])
            self._own(pointer, context)

        try:
            take(context.create(lib.lth_gp_fit, *arguments, long=True, gently=lambda: steps,
                                rescue=take))
        finally:
            line.end()
        return self

    def plan(self, X: Rows, y: ArrayLike) -> Dict[str, Any]:
        """What `fit` would do and need, as a dict: rows to learn from, posterior, pairs of rows,
        bytes of memory, and seconds by a short trial on this machine."""
        before = dict(self.__dict__)
        context, parsed, columns, targets, more = self._task(X, y, {})
        options = self._options(StatusLine(False), [], context)
        self.__dict__ = before  # nothing was learned
        _table, arguments = self._arguments(context, parsed, columns, targets, options, more)
        plan = _c.GpPlan()
        context.call(lib.lth_gp_plan_fit, *arguments, byref(plan), sizeof(plan), long=True)
        out = {name: getattr(plan, name) for name, *_ in plan._fields_}
        out["posterior"] = out.pop("name").decode()
        out["store"] = _STORES[2 if plan.on_disk else plan.store]
        return out

    def _validation(self, X, y, known):
        """For `cross_validate`: (context, parsed, columns, targets, options, what validates)."""
        context, parsed, columns, targets, more = self._task(X, y, self._known(**known))
        options = self._options(StatusLine(False), [], context)
        self._set(options, context, parsed, columns, more)
        return context, parsed, columns, targets, options, lib.lth_gp_cv

    def _set(self, options, context, parsed, columns, more):
        for name, value in more.items():
            setattr(options, name, value)
        self._set_vectors(options, context, parsed, columns)

    def _arguments(self, context, parsed, columns, targets, options, more):
        self._set(options, context, parsed, columns, more)
        names, count = model.strings(targets, "targets")
        table = tables.Table(context, {**columns, **targets})  # the caller keeps it alive
        return table, (context.pointer, parsed.expression.encode(), table.pointer, names, count,
                       byref(options))

    def _read(self):
        pointer = self._model.pointer
        report = lib.lth_gp_reported(pointer)
        self._rows = report.rows
        self.posterior_ = _POSTERIORS[report.posterior]
        self.learned_rows_ = report.learned_rows
        self.inducing_rows_ = report.inducing
        self.variance_left_ = report.trace_left if report.inducing else None
        self.cg_steps_ = report.cg_steps
        self.log_evidence_ = report.evidence
        self.n_iter_ = report.iterations
        self.converged_ = report.converged
        self.interrupted_ = report.interrupted
        self.n_targets_ = lib.lth_gp_targets(pointer)
        self.draws_ = report.draws
        self.effective_draws_ = report.effective_draws
        self.intervals_ = {p.path.decode(): (p.low, p.high) for p in self._params()
                           if p.low <= p.high and not p.undetermined}
        self.likelihood_ = lib.lth_likelihood_name(lib.lth_gp_likelihood(pointer)).decode()
        self.hyperparameters_ = {p.path.decode(): p.value for p in self._params()}
        count = report.orders
        self.order_weights_ = np.array(report.nu[:count])
        self.order_shares_ = np.array(report.order_share[:count])
        self.symbols_ = self._symbols()
        if "trace_" not in self.__dict__:  # a model file does not tell
            self.trace_ = np.empty(0, dtype=[(name, "f8") for name, _ in _c.GpStep._fields_])


class GPRegressor(RegressorMixin, Predicted, _GP):
    """Gaussian process regression. The kernel's hyperparameters are learned by the evidence.

    Parameters
    ----------
    kernel : str, Kernel or callable
        ``"ssk(text)"``, ``"normalize(sstk(tree)) + rbf(f1..f17)"``, ... Or ``"precomputed"``: X is a
        matrix, the values of rows with the training rows; or a function of two lists of rows that
        returns such a matrix. Then a factor in front and the noise are learned.
    vectors : path, dict or pair, optional
        Word vectors: a file (GloVe, word2vec, fastText .vec; also gzipped), ``{word: numbers}``, or
        ``(words, matrix)``.
    keep_vectors : {"used", "none", "all"}
        What `save` and pickle keep of them: those of the training words; none, then a model that was
        loaded needs them; or all, in a byte a number, so that it finds new words by itself.
    restarts : int
        Scrambled starts beside the informed one.
    max_iter : int
        Iterations of the start that finishes.
    noise : float, optional
        Variance to start from, in the units of y squared; None = half of y's variance.
    fix : list of str, optional
        Hyperparameters to hold: ``["ssk.gap", "noise"]``.
    prior : dict, optional
        Log-normal priors: ``{"ssk.gap": (median, sd of the logarithm)}``.
    learn : bool
        False keeps every hyperparameter as given.
    zero_mean, unscaled : bool
        Do not take out the mean of y; keep its scale.
    likelihood : str
        What is seen of the function: "gaussian" noise, heavy tails ("student"), noise after a
        learned warp ("warped"), numbers that pile up at bounds ("censored"), few grades in order
        ("ordinal"), counts ("poisson", or with more spread "negbinomial"), shares between 0 and 1
        ("beta"). See docs/models.md.
    warp : {"log", "boxcox", "sinh", "tanh"}, optional
        Of "warped"; None = "log".
    lower, upper : float, optional
        Of "censored": what is at or beyond them may be anything beyond.
    point : {"mean", "median"}
        What `predict` gives, by which errors are counted.
    mean : str, optional
        Number columns that y depends on linearly, ``"zs + f1..f17"``: their weights are integrated
        out. It adds ``linear(scale(zs) + scale(f1..f17))`` to the kernel; "zero" among them is
        `zero_mean`. See `mean_weights`.
    noise_kernel : str or Kernel, optional
        The noise is a function of the row too: the kernel of its logarithm. For "gaussian" and
        "warped", with one target and the exact posterior.
    posterior : {"auto", "exact", "cg", "inducing", "laplace", "sites"}
        How all rows are taken into account: by a factor of their matrix, by conjugate gradients
        over it (for regression), or by some rows that stand for all; "auto" is the most exact that
        fits into memory. See docs/scale.md.
    inducing : int, optional
        Rows that stand for all; None = an eighth of the rows, 1000 to 4000, where that is ten
        minutes' work of one core.
    learn_rows : int or "all", optional
        Rows that the hyperparameters are learned from, drawn by `random_state`; None = all when
        that is about an hour's work of one core, else as many as take it ten minutes.
    bound : {None, "fitc", "titsias"}
        With inducing rows, learn on from all rows by this bound.
    gram : path, optional
        A folder of `Kernel.gram_to` for these rows, to read the Gram matrix from; the kernel's
        hyperparameters are then held.
    store : {"double", "single", "disk"}
        How conjugate gradients keep the matrix: 8 or 4 bytes a pair of rows, or not at all: then
        `gram` is read for every product.
    tolerance : float, optional
        The relative residual at which conjugate gradients stop; None = 1e-8.
    coregion : int, optional
        Several targets learn from each other, by so many numbers that each has; NaN in y is then a
        number that is not known. None = each is by itself.
    probes : int, optional
        Random vectors by which conjugate gradients know variances; None = 128.
    intervals : bool
        Find 95% intervals of the hyperparameters too, `intervals_`.
    average : int, optional
        Predict by the average over so many draws of the hyperparameters, 2 to 1000; None = by the
        best ones alone. Finds the intervals too.
    journal : path, optional
        A file that keeps every evaluation of the search: the same fit goes on where it was
        interrupted or killed.
    n_jobs : int, optional
        Threads; None and -1 mean all cores. The results do not depend on it.
    random_state : int, optional
        Of the scrambled starts; None is the same as 1.
    verbose : int
        1 shows how far the fit is: by tqdm where that is installed, in notebooks as a widget, else
        on one line of stderr.
    device : str
        Where string kernels and linear algebra are computed: "cpu", "cuda", "cuda:N", "cuda:N,M" (several GPUs), or "auto".
    cluster : {"none", "mpi", "scalapack", "auto"}
        Share the work with all processes that mpirun or srun started, which run the same script;
        "scalapack": with its dense algebra; "auto": where there are several. See docs/python.md.
    precision : {"double", "single"}
        Of the arithmetic inside of string kernels.

    Attributes
    ----------
    kernel_ : Kernel
        With the learned values.
    hyperparameters_ : dict
        By path, the noise included.
    log_evidence_, noise_ : float
    converged_, interrupted_ : bool
        Interrupted: Ctrl-C ended the search, and this is the best that it had found.
    likelihood_, warp_ : str
    grades_ : ndarray
        Of "ordinal": the grades, ascending; else None.
    leave_one_out_ : dict
        Quality of leave-one-out predictions, as `luthier.metrics` gives it. None with inducing
        rows.
    posterior_, learned_rows_, inducing_rows_, variance_left_, cg_steps_
        How it came to all rows: the posterior taken, the rows learned from, those that stand for
        all and the share of the variance they leave, steps of conjugate gradients.
    intervals_ : dict
        By path, (low, high) where `intervals` or `average` asked for it; without those that are
        held, at a bound, or not determined by the rows.
    draws_, effective_draws_ : int, float
        Draws that predictions are averaged over, and how many equal ones they are worth.
    order_weights_, order_shares_ : ndarray
        Of the first string kernel: the weight of each order, its share of the mean k(x, x).
    symbols_ : list of dict
        What tree kernels learned about symbols.
    trace_ : structured ndarray
        Steps of the optimiser: start, iteration, evaluations, evidence, gradient, seconds.
    """

    # Of pickles that do not tell.
    likelihood, warp, lower, upper, point = "gaussian", None, None, None, "mean"
    noise_kernel = None
    likelihood_, warp_, grades_ = "gaussian", None, None

    def __init__(self, kernel: KernelLike = "ssk(text)", *, vectors: Any = None,
                 keep_vectors: str = "used", restarts: int = 4,
                 max_iter: int = 200, noise: Optional[float] = None,
                 fix: Optional[Sequence[str]] = None,
                 prior: Optional[Mapping[str, Tuple[float, float]]] = None, learn: bool = True,
                 zero_mean: bool = False, unscaled: bool = False, mean: Optional[str] = None,
                 likelihood: str = "gaussian", warp: Optional[str] = None,
                 lower: Optional[float] = None, upper: Optional[float] = None, point: str = "mean",
                 noise_kernel: Optional[KernelLike] = None, posterior: str = "auto",
                 inducing: Optional[int] = None, learn_rows: Union[int, str, None] = None,
                 bound: Optional[str] = None, gram: Optional[PathLike] = None,
                 store: str = "double", tolerance: Optional[float] = None,
                 probes: Optional[int] = None, coregion: Optional[int] = None,
                 intervals: bool = False, average: Optional[int] = None,
                 journal: Optional[PathLike] = None, n_jobs: Optional[int] = None,
                 random_state: Random = None, verbose: int = 0, precision: str = "double",
                 device: str = "cpu", cluster: str = "none") -> None:
        self.kernel = kernel
        self.vectors = vectors
        self.keep_vectors = keep_vectors
        self.restarts = restarts
        self.max_iter = max_iter
        self.noise = noise
        self.fix = fix
        self.prior = prior
        self.learn = learn
        self.zero_mean = zero_mean
        self.unscaled = unscaled
        self.mean = mean
        self.likelihood = likelihood
        self.warp = warp
        self.lower = lower
        self.upper = upper
        self.point = point
        self.noise_kernel = noise_kernel
        self.posterior = posterior
        self.inducing = inducing
        self.learn_rows = learn_rows
        self.bound = bound
        self.gram = gram
        self.store = store
        self.tolerance = tolerance
        self.probes = probes
        self.coregion = coregion
        self.intervals = intervals
        self.average = average
        self.journal = journal
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.precision = precision
        self.device = device
        self.cluster = cluster

    def _set_posterior(self, options):
        super()._set_posterior(options)
        if self.store not in _STORES:
            raise Error(f"store wants one of {', '.join(_STORES)}, not {self.store!r}")
        options.on_disk = self.store == "disk"
        options.store = int(self.store == "single")
        if self.tolerance is not None:
            if not 0 < self.tolerance < 1:
                raise Error(f"tolerance wants a number between 0 and 1, not {self.tolerance!r}")
            options.tolerance = float(self.tolerance)
        if self.probes is not None:
            options.probes = model.positive(self.probes, "probes", 1)

    def fit(self, X: Rows, y: ArrayLike, sample_weight: Optional[Column] = None, *,
            weights: Optional[Column] = None, noise: Optional[Column] = None,
            repeats: Optional[Column] = None, exposure: Optional[Column] = None) -> GPRegressor:
        """Learn from rows and their targets.

        Parameters
        ----------
        X, y : rows and their numbers; a y of two dimensions has several targets
        sample_weight, weights : array-like or str, optional
            How often each row counts: scikit-learn's name, and ours. Rows of weight 0 are left out.
        noise : array-like or str, optional
            The known variance of each row's noise, which is added to the learned one.
        repeats : array-like or str, optional
            How many measurements each y is the mean of.
        exposure : array-like or str, optional
            What counts are in proportion to: hours, length, population.

        The last ones are one number for each row, or the name of a column of X.
        """
        return self._fit(X, y, self._known(sample_weight, weights, noise, repeats, exposure))

    def _known(self, sample_weight=None, weights=None, noise=None, repeats=None, exposure=None):
        return {"weights": rows.weights(sample_weight, weights), "noise": noise,
                "repeats": repeats, "exposure": exposure}

    def _seen(self):
        """The options that say what is seen of the function."""
        if self.likelihood not in _OF_NUMBERS:
            raise Error(f"likelihood wants one of {', '.join(_OF_NUMBERS)}, not "
                        f"{self.likelihood!r}")
        if self.point not in _POINTS:
            raise Error(f'point wants "mean" or "median", not {self.point!r}')
        bounds = {name: np.nan if value is None else float(value)
                  for name, value in (("lower", self.lower), ("upper", self.upper))}
        noise = None if self.noise_kernel is None else expression_of(self.noise_kernel).encode()
        return {"likelihood": _OF_NUMBERS[self.likelihood], "point": _POINTS.index(self.point),
                "noise_kernel": noise,
                "warp": None if self.warp is None else str(self.warp).encode(), **bounds}

    def _task(self, X, y, known):
        context, parsed, columns = self._begin(X)
        count = next(iter(columns.values())).count
        how = self._how()
        targets, self._several = labels.numbers(y, count, columns.keys(), self,
                                                gaps=how["coregion"] > 0)
        more, names = rows.columns(X, count, columns.keys() | targets.keys(), **known)
        return context, parsed, {**columns, **more}, targets, {**how, **names}

    def _how(self):
        """The options that do not depend on the rows."""
        rank = 0 if self.coregion is None else model.positive(self.coregion, "coregion", 1)
        noise = 0.0 if self.noise is None else float(self.noise)
        if not noise >= 0:
            raise Error(f"noise wants a variance of at least 0, not {self.noise!r}")
        return {"task": _REGRESSION, "noise": noise, "zero_mean": bool(self.zero_mean),
                "unscaled": bool(self.unscaled), "coregion": rank, **self._seen()}

    def _read(self):
        super()._read()
        report = lib.lth_gp_reported(self._pointer)
        self.noise_ = report.noise
        self.leave_one_out_ = {name: getattr(report.loo.contents, name)
                               for name, _ in _c.Metrics._fields_} if report.loo else None
        self._several = self.n_targets_ > 1 or self.__dict__.get("_several", False)
        warp, grades = lib.lth_gp_warp(self._pointer), c_void_p()
        self.warp_ = None if warp is None else warp.decode()
        count = lib.lth_gp_grades(self._pointer, byref(grades))
        self.grades_ = np.array((c_double * count).from_address(grades.value)) if count else None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class GPClassifier(ClassifierMixin, model.Classes, _GP):
    """Gaussian process classification, by Laplace's approximation.

    Two classes are one problem, several are one for each class against the rest, or one model of
    all classes (softmax). A y of two dimensions, of 0 and 1, has several labels a row.

    Parameters
    ----------
    kernel, vectors, keep_vectors, restarts, max_iter, fix, prior, learn, mean, posterior, inducing,
    learn_rows, bound, gram, intervals, average, journal, n_jobs, random_state, verbose, precision,
    device, cluster
        As for `GPRegressor`; "exact" is Laplace's approximation here, and there is no "cg".
    likelihood : {"logit", "probit", "softmax"}
        How the latent function becomes a probability. With "softmax" all classes are one model,
        of rows that have one label each; its posterior is "exact" or "inducing".
    calibrate : bool
        Learn from training rows, each left out, how sharp probabilities are.

    Attributes
    ----------
    classes_ : ndarray
    kernel_, hyperparameters_, intervals_, draws_, effective_draws_, log_evidence_,
    order_weights_, order_shares_, symbols_, trace_
        As for `GPRegressor`; instead of the noise there is the scale of the kernel.
    sharpness_ : float
        The power that probabilities are raised to; 0 where none was learned.
    left_out_log_loss_ : float
        The mean log loss of training rows, each predicted from all others; None without
        sharpness.
    """

    def __init__(self, kernel: KernelLike = "ssk(text)", *, vectors: Any = None,
                 keep_vectors: str = "used", likelihood: str = "logit", restarts: int = 4, max_iter: int = 200,
                 fix: Optional[Sequence[str]] = None,
                 prior: Optional[Mapping[str, Tuple[float, float]]] = None, learn: bool = True,
                 mean: Optional[str] = None, posterior: str = "auto",
                 inducing: Optional[int] = None, learn_rows: Union[int, str, None] = None,
                 bound: Optional[str] = None, gram: Optional[PathLike] = None,
                 intervals: bool = False, average: Optional[int] = None,
                 journal: Optional[PathLike] = None, n_jobs: Optional[int] = None,
                 random_state: Random = None, verbose: int = 0, precision: str = "double",
                 device: str = "cpu", cluster: str = "none", calibrate: bool = True) -> None:
        self.kernel = kernel
        self.vectors = vectors
        self.keep_vectors = keep_vectors
        self.likelihood = likelihood
        self.restarts = restarts
        self.max_iter = max_iter
        self.fix = fix
        self.prior = prior
        self.learn = learn
        self.mean = mean
        self.posterior = posterior
        self.inducing = inducing
        self.learn_rows = learn_rows
        self.bound = bound
        self.gram = gram
        self.intervals = intervals
        self.average = average
        self.journal = journal
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.precision = precision
        self.device = device
        self.cluster = cluster
        self.calibrate = calibrate

    def fit(self, X: Rows, y: ArrayLike, sample_weight: Optional[Column] = None, *,
            weights: Optional[Column] = None) -> GPClassifier:
        """Learn from rows and their labels; `sample_weight`, or `weights`, says how often each row
        counts, as numbers or as the name of a column of X. Rows of weight 0 are left out."""
        return self._fit(X, y, self._known(sample_weight, weights))

    def _known(self, sample_weight=None, weights=None):
        return {"weights": rows.weights(sample_weight, weights)}

    def _task(self, X, y, known):
        how = self._how()
        context, parsed, columns = self._begin(X)
        count = next(iter(columns.values())).count
        self._labels, targets = labels.labels(y, count, columns.keys(), self)
        more, names = rows.columns(X, count, columns.keys() | targets.keys(), **known)
        return context, parsed, {**columns, **more}, targets, {**how, **names}

    def _how(self):
        """The options that do not depend on the rows."""
        if self.likelihood not in _OF_LABELS:
            raise Error(f"likelihood wants one of {', '.join(_OF_LABELS)}, not "
                        f"{self.likelihood!r}")
        return {"task": _CLASSIFICATION, "likelihood": _OF_LABELS[self.likelihood],
                "calibrate": bool(self.calibrate)}

    def _read(self):
        super()._read()
        pointer = self._pointer
        names = [lib.lth_gp_class(pointer, i).name.decode()
                 for i in range(lib.lth_gp_classes(pointer))]
        self._set_classes(names, lib.lth_gp_is_multi_label(pointer),
                          self.__dict__.pop("_labels", None))
        report = lib.lth_gp_reported(pointer)
        self.sharpness_ = report.sharpness
        self.left_out_log_loss_ = report.left_out_loss if report.sharpness else None

    def predict_proba(self, X: Rows) -> Array:
        """Probabilities, in the order of `classes_`; of several labels each by itself."""
        table = self._new_rows(X)
        out = np.empty((table.rows, len(self._order)))
        self._predict_call("classify", table, out.ctypes.data)
        return self._spread(out)

    def predict(self, X: Rows) -> Array:
        """The most probable class; of several labels those with a probability above 1/2."""
        p = self.predict_proba(X)
        return (p > 0.5).astype(int) if self._multi else self.classes_[p.argmax(axis=1)]


def estimator_of(pointer, context, **given):
    """The estimator for a Gaussian process that was read from a file."""
    given["likelihood"] = lib.lth_likelihood_name(lib.lth_gp_likelihood(pointer)).decode()
    if lib.lth_gp_classes(pointer):
        return model.adopt(GPClassifier(**given), pointer, context)
    given["point"] = _POINTS[lib.lth_gp_point(pointer)]
    warp = lib.lth_gp_warp(pointer)
    given["warp"] = None if warp is None else warp.decode()
    return model.adopt(GPRegressor(**given), pointer, context)
