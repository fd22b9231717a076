"""Gaussian processes: regression and classification."""

import os
from ctypes import byref, sizeof

import numpy as np

from . import _c, labels, model, tables
from ._compat import ClassifierMixin, RegressorMixin
from ._context import StatusLine
from ._library import lib
from .errors import Error

_LIKELIHOODS = {"logit": 0, "probit": 1, "softmax": 10}
_REGRESSION, _CLASSIFICATION = 1, 2
_POSTERIORS = ("auto", "exact", "cg", "inducing", "laplace", "sites")
_BOUNDS = {None: 0, "fitc": 1, "titsias": 2}
_STORES = ("double", "single", "disk")


class _GP(model.Model):
    _api = "gp"

    def _options(self, line, steps, context):
        options = _c.GpOptions()
        lib.lth_gp_options_init(byref(options))
        options.max_iter = model.positive(self.max_iter, "max_iter")
        options.restarts = model.positive(self.restarts, "restarts")
        options.learn = bool(self.learn)
        options.mean = None if self.mean is None else self._mean().encode()
        self._set_posterior(options)
        options.fix, options.fix_count = model.strings(self.fix, "fix")
        priors = [f"{path}={median},{sd}" for path, (median, sd) in self._priors()]
        options.prior, options.prior_count = model.strings(priors, "prior")
        starts = options.restarts + 1

        def on_step(_, step):
            at = step.contents
            steps.append((at.start, at.iteration, at.evaluations, at.evidence, at.gradient,
                          at.seconds))
            line.show(f"start {at.start + 1} of {starts}, iteration {at.iteration}, evidence "
                      f"{at.evidence:.6g}, gradient {at.gradient:.2g}, {at.seconds:.1f} s")
            return int(context.cancelled)

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

    def fit(self, X, y):
        """Learn from rows and their targets."""
        context, parsed, columns, targets, more = self._task(X, y)
        steps, line = [], StatusLine(self.verbose and context.is_first)
        options = self._options(line, steps, context)
        _table, arguments = self._arguments(context, parsed, columns, targets, options, more)
        try:
            pointer = context.create(lib.lth_gp_fit, *arguments, long=True, free=lib.lth_gp_free)
        finally:
            line.end()
        self.trace_ = np.array(steps, dtype=[(name, "i8" if kind is _c.c_size_t else "f8")
                                             for name, kind in _c.GpStep._fields_])
        return self._own(pointer, context)

    def plan(self, X, y):
        """What `fit` would do and need, as a dict: rows to learn from, posterior, pairs of rows,
        bytes of memory, and seconds by a short trial on this machine."""
        context, parsed, columns, targets, more = self._task(X, y)
        options = self._options(StatusLine(False), [], context)
        _table, arguments = self._arguments(context, parsed, columns, targets, options, more)
        plan = _c.GpPlan()
        context.call(lib.lth_gp_plan_fit, *arguments, byref(plan), sizeof(plan), long=True)
        out = {name: getattr(plan, name) for name, _ in plan._fields_}
        out["posterior"] = _POSTERIORS[plan.posterior]
        out["store"] = _STORES[2 if plan.on_disk else plan.store]
        return out

    def _arguments(self, context, parsed, columns, targets, options, more):
        for name, value in more.items():
            setattr(options, name, value)
        options.vectors = self._vectors_for(parsed, columns)
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
        self.n_targets_ = lib.lth_gp_targets(pointer)
        self.hyperparameters_ = {p.path.decode(): p.value for p in self._params()}
        count = report.orders
        self.order_weights_ = np.array(report.nu[:count])
        self.order_shares_ = np.array(report.order_share[:count])
        self.symbols_ = self._symbols()
        if "trace_" not in self.__dict__:  # a model file does not tell
            self.trace_ = np.empty(0, dtype=[(name, "f8") for name, _ in _c.GpStep._fields_])

    def _params(self):
        count = lib.lth_kernel_params(lib.lth_gp_kernel(self._pointer))
        places = [*range(count), _c.NONE]  # the noise, or the scale
        return [lib.lth_gp_param_at(self._pointer, i) for i in places]

    def mean_weights(self, target=0):
        """What one unit of each number column adds, where the kernel is linear in them, as a
        `mean` is: {"columns": {name: {"weight", "sd", "deviation"}}, "share"}.

        `sd` is the standard deviation of the weight, `deviation` that of the column, `share` the
        mean's part of the variance over training rows. `target` is the number of a target, or of
        a class in the order of their names.
        """
        trend = self._context_of_fitted().create(lib.lth_gp_trend, self._pointer, target)
        columns, i = {}, 0
        while w := lib.lth_trend_weight_at(trend, i):
            columns[w.column.decode()] = {"weight": w.weight, "sd": w.sd,
                                          "deviation": w.deviation}
            i += 1
        share = lib.lth_trend_share(trend)
        lib.lth_trend_free(trend)
        return {"columns": columns, "share": share}

    def _symbols(self):
        out, i = [], 0
        while s := lib.lth_gp_symbol_at(self._pointer, i):
            out.append({"symbol": s.symbol.decode(), "kernel": s.kernel.decode(),
                        "decay": s.decay, "alpha": s.alpha, "nodes": s.count})
            i += 1
        return sorted(out, key=lambda s: (-s["decay"], -s["nodes"], s["symbol"].encode()))


class GPRegressor(RegressorMixin, _GP):
    """Gaussian process regression. The kernel's hyperparameters are learned by the evidence.

    Parameters
    ----------
    kernel : str or Kernel
        ``"ssk(text)"``, ``"normalize(sstk(tree)) + rbf(f1..f17)"``, ...
    vectors : path, optional
        A file of word vectors (GloVe, word2vec, fastText .vec; also gzipped).
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
    mean : str, optional
        Number columns that y depends on linearly, ``"zs + f1..f17"``: their weights are integrated
        out. It adds ``linear(scale(zs) + scale(f1..f17))`` to the kernel; "zero" among them is
        `zero_mean`. See `mean_weights`.
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
    probes : int, optional
        Random vectors by which conjugate gradients know variances; None = 128.
    n_jobs : int, optional
        Threads; None and -1 mean all cores. The results do not depend on it.
    random_state : int, optional
        Of the scrambled starts; None is the same as 1.
    verbose : int
        1 shows how far the fit is, on one line of stderr.
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
    leave_one_out_ : dict
        Quality of leave-one-out predictions, as `luthier.metrics` gives it. None with inducing
        rows.
    posterior_, learned_rows_, inducing_rows_, variance_left_, cg_steps_
        How it came to all rows: the posterior taken, the rows learned from, those that stand for
        all and the share of the variance they leave, steps of conjugate gradients.
    order_weights_, order_shares_ : ndarray
        Of the first string kernel: the weight of each order, its share of the mean k(x, x).
    symbols_ : list of dict
        What tree kernels learned about symbols.
    trace_ : structured ndarray
        Steps of the optimiser: start, iteration, evaluations, evidence, gradient, seconds.
    """

    def __init__(self, kernel="ssk(text)", *, vectors=None, restarts=4, max_iter=200, noise=None,
                 fix=None, prior=None, learn=True, zero_mean=False, unscaled=False, mean=None,
                 posterior="auto", inducing=None, learn_rows=None, bound=None, gram=None,
                 store="double", tolerance=None, probes=None, n_jobs=None, random_state=None,
                 verbose=0, precision="double", device="cpu", cluster="none"):
        self.kernel = kernel
        self.vectors = vectors
        self.restarts = restarts
        self.max_iter = max_iter
        self.noise = noise
        self.fix = fix
        self.prior = prior
        self.learn = learn
        self.zero_mean = zero_mean
        self.unscaled = unscaled
        self.mean = mean
        self.posterior = posterior
        self.inducing = inducing
        self.learn_rows = learn_rows
        self.bound = bound
        self.gram = gram
        self.store = store
        self.tolerance = tolerance
        self.probes = probes
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

    def _task(self, X, y):
        context, parsed, columns = self._begin(X)
        rows = next(iter(columns.values())).count
        targets, self._several = labels.numbers(y, rows, columns.keys(), self)
        noise = 0.0 if self.noise is None else float(self.noise)
        if not noise >= 0:
            raise Error(f"noise wants a variance of at least 0, not {self.noise!r}")
        more = {"task": _REGRESSION, "noise": noise, "zero_mean": bool(self.zero_mean),
                "unscaled": bool(self.unscaled)}
        return context, parsed, columns, targets, more

    def _read(self):
        super()._read()
        report = lib.lth_gp_reported(self._pointer)
        self.noise_ = report.noise
        self.leave_one_out_ = {name: getattr(report.loo.contents, name)
                               for name, _ in _c.Metrics._fields_} if report.loo else None
        self._several = self.n_targets_ > 1 or self.__dict__.get("_several", False)

    def predict(self, X, return_std=False, latent=False):
        """The mean for each row, and with `return_std` its standard deviation.

        The deviation is that of y, noise included; with `latent` that of the function itself.
        """
        table = self._new_rows(X)
        mean = np.empty((self.n_targets_, table.rows))
        sd = np.empty_like(mean) if return_std else None
        self._predict_call("predict", table, bool(latent), mean.ctypes.data,
                           sd.ctypes.data if return_std else None)
        shape = (lambda a: a.T) if self._several else (lambda a: a[0])
        return (shape(mean), shape(sd)) if return_std else shape(mean)

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
    kernel, vectors, restarts, max_iter, fix, prior, learn, mean, posterior, inducing, learn_rows,
    bound, gram, n_jobs, random_state, verbose, precision, device, cluster
        As for `GPRegressor`; "exact" is Laplace's approximation here, and there is no "cg".
    likelihood : {"logit", "probit", "softmax"}
        How the latent function becomes a probability. With "softmax" all classes are one model,
        of rows that have one label each; its posterior is "exact".

    Attributes
    ----------
    classes_ : ndarray
    kernel_, hyperparameters_, log_evidence_, order_weights_, order_shares_, symbols_, trace_
        As for `GPRegressor`; instead of the noise there is the scale of the kernel.
    """

    def __init__(self, kernel="ssk(text)", *, vectors=None, likelihood="logit", restarts=4,
                 max_iter=200, fix=None, prior=None, learn=True, mean=None, posterior="auto",
                 inducing=None, learn_rows=None, bound=None, gram=None, n_jobs=None, random_state=None, verbose=0,
                 precision="double", device="cpu", cluster="none"):
        self.kernel = kernel
        self.vectors = vectors
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
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.precision = precision
        self.device = device
        self.cluster = cluster

    def _task(self, X, y):
        if self.likelihood not in _LIKELIHOODS:
            raise Error(f'likelihood wants one of {", ".join(_LIKELIHOODS)}, not '
                        f'{self.likelihood!r}')
        context, parsed, columns = self._begin(X)
        rows = next(iter(columns.values())).count
        self._labels, targets = labels.labels(y, rows, columns.keys(), self)
        more = {"task": _CLASSIFICATION, "likelihood": _LIKELIHOODS[self.likelihood]}
        return context, parsed, columns, targets, more

    def _read(self):
        super()._read()
        pointer = self._pointer
        names = [lib.lth_gp_class(pointer, i).name.decode()
                 for i in range(lib.lth_gp_classes(pointer))]
        self._set_classes(names, lib.lth_gp_is_multi_label(pointer),
                          self.__dict__.pop("_labels", None))

    def predict_proba(self, X):
        """Probabilities, in the order of `classes_`; of several labels each by itself."""
        table = self._new_rows(X)
        out = np.empty((table.rows, len(self._order)))
        self._predict_call("classify", table, out.ctypes.data)
        return self._spread(out)

    def predict(self, X):
        """The most probable class; of several labels those with a probability above 1/2."""
        p = self.predict_proba(X)
        return (p > 0.5).astype(int) if self._multi else self.classes_[p.argmax(axis=1)]


def estimator_of(pointer, context, **given):
    """The estimator for a Gaussian process that was read from a file."""
    kind = GPClassifier if lib.lth_gp_classes(pointer) else GPRegressor
    return model.adopt(kind(**given), pointer, context)
