"""Calls into the C library: contexts, errors, warnings, progress and Ctrl-C."""

import _thread
import contextlib
import itertools
import os
import sys
import threading
import time
import warnings
import weakref
from ctypes import byref, c_void_p

from . import _c, _ranks
from ._library import lib
from .errors import Error, LuthierWarning, from_c

_PRECISIONS = {"double": 0, "float64": 0, "single": 1, "float32": 1}
_OK, _CANCELED = _c.STATUS["OK"], _c.STATUS["ECANCELED"]

_numbers = itertools.count(1)
# By the number that C hands back to the callbacks.
_contexts: "weakref.WeakValueDictionary[int, Context]" = weakref.WeakValueDictionary()


@_c.ProgressFn
def _on_progress(user, what, done, total):
    context = _contexts.get(user)
    return 0 if context is None else context._report(what, done, total)


@_c.LogFn
def _on_log(user, level, text):
    context = _contexts.get(user)
    if context is not None and level == 1 and context.is_first:
        context._warnings.append(text.decode("utf-8", "replace"))


def thread_count(n_jobs):
    """The C library's number of threads (0 = all) for scikit-learn's `n_jobs`."""
    if n_jobs is None or n_jobs == -1:
        return 0
    if isinstance(n_jobs, bool) or not hasattr(n_jobs, "__index__") or n_jobs == 0:
        raise Error(f"n_jobs wants a whole number other than 0, or None; not {n_jobs!r}")
    n_jobs = n_jobs.__index__()
    if n_jobs > 0:
        return min(n_jobs, 2**31 - 1)
    return max(1, len(os.sched_getaffinity(0)) + 1 + n_jobs)


def seed_of(random_state):
    """A seed for scikit-learn's `random_state`: a number, a generator, or None for the default."""
    if random_state is None:
        return 1
    if hasattr(random_state, "randint"):  # numpy.random.RandomState
        return int(random_state.randint(2**31 - 1))
    if hasattr(random_state, "integers"):  # numpy.random.Generator
        return int(random_state.integers(2**31 - 1))
    if isinstance(random_state, bool) or not hasattr(random_state, "__index__"):
        raise Error(f"random_state wants a whole number or a generator, not {random_state!r}")
    return random_state.__index__() % 2**64


class Context:
    """An ``lth_ctx``. It serves one call at a time: others wait for its lock."""

    def __init__(self, n_jobs=None, precision="double", seed=1, device="cpu", cluster="none"):
        if precision not in _PRECISIONS:
            raise Error(f'precision wants "double" or "single", not {precision!r}')
        if not isinstance(device, str):
            raise Error(f'device wants "cpu", "cuda", "cuda:N", "cuda:N,M" or "auto", not {device!r}')
        self._process = _ranks.join(cluster)  # the one that is in a cluster, None without
        self.number = next(_numbers)
        self._lock = threading.Lock()
        self._cancelled = False
        self._stopping = False  # a fit is to end with what it has
        self._led_by = None     # the context of a call that uses what is ours
        self._called_from = None  # the thread in which C calls back into Python code of the user
        self._warnings = []
        self.is_first = True  # of the ranks: the one that tells
        self.on_progress = None  # called with a text and a share of 1 while a call runs
        _contexts[self.number] = self
        options = _c.CtxOptions()
        lib.lth_ctx_options_init(byref(options))
        options.threads = thread_count(n_jobs)
        options.precision = _PRECISIONS[precision]
        options.seed = seed
        options.device = device.encode()
        options.cluster = cluster.encode()
        options.log, options.progress = _on_log, _on_progress
        options.user = self.number
        pointer, error = c_void_p(), _c.Error()
        if lib.lth_ctx_create(byref(options), byref(pointer), byref(error)) != _OK:
            raise from_c(error)
        self.pointer = pointer.value
        self.is_first = lib.lth_ctx_rank(self.pointer, None) == 0
        weakref.finalize(self, lib.lth_ctx_free, self.pointer)

    def _report(self, what, done, total):
        show = self.on_progress
        if show is not None and total > 0:
            show(what.decode("utf-8", "replace"), min(1.0, done / total))
        return int(self.cancelled)

    @property
    def cancelled(self):
        return (self._led_by or self)._cancelled

    @contextlib.contextmanager
    def called_back(self):
        """While C, in a call of this context, runs Python code of the user's."""
        context = self._led_by or self
        context._called_from = threading.get_ident()
        try:
            yield
        finally:
            context._called_from = None

    def check_reentry(self):
        if (self._led_by or self)._called_from == threading.get_ident():
            raise Error("this model is in use by the call that asks this function: use a copy of "
                        "it, as pickle.loads(pickle.dumps(model))")

    @property
    def stopping(self):
        """Whether a search is to end: with the best so far, or at once."""
        return (self._led_by or self)._stopping or self.cancelled

    def call(self, function, *arguments, long=False, in_memory=True, gently=None):
        """Call a function that returns a status and takes an ``lth_error`` as its last argument.

        With `long`, the main thread waits beside the call, so that it can take signals: then the
        call is cancelled, and what the signal handler raised (KeyboardInterrupt) goes on. A call
        of which `gently()` holds when Ctrl-C comes finishes with what it has (see `stopping`); a
        second one cancels it.
        """
        if self._process is not None:
            _ranks.check(self._process)
        self.check_reentry()
        error = _c.Error()
        arguments += (byref(error),)
        with self._lock:
            self._cancelled = self._stopping = False
            if long and threading.current_thread() is threading.main_thread():
                status = self._beside(function, arguments, gently)
            else:
                status = function(*arguments)
            messages, self._warnings = self._warnings, []
        for message in messages:
            warnings.warn(message, LuthierWarning, stacklevel=_outside())
        if status == _CANCELED and self._cancelled:
            raise KeyboardInterrupt
        if status != _OK:
            raise from_c(error, in_memory)

    def _beside(self, function, arguments, gently):
        results = []
        done = _thread.allocate_lock()
        done.acquire()

        def work():
            try:
                results.append((function(*arguments), None))
            except BaseException as failure:
                results.append((None, failure))
            finally:
                done.release()

        started = False
        try:
            _thread.start_new_thread(work, ())
            started = True
            done.acquire()
        except BaseException as signal:
            # Another signal must not make us leave while C still uses our arrays.
            self._stopping = True
            stops = gently is not None and isinstance(signal, KeyboardInterrupt) and gently()
            self._cancelled = not stops
            waiting = time.monotonic()
            while started and not results:
                try:
                    done.acquire(timeout=0.05)
                    if stops and time.monotonic() - waiting > 1:
                        stops = False
                        print("\nluthier: ending with the best values so far; Ctrl-C again ends at "
                              "once, without a model", file=sys.stderr, flush=True)
                except BaseException:
                    self._cancelled = True
            raise
        status, failure = results[0]
        if failure is not None:
            raise failure
        return status

    def create(self, function, *arguments, free=None, rescue=None, **how):
        """`call` for functions with an out-pointer before the error: what it points to.

        A fit that is interrupted still ends well: `rescue` takes what it made, or `free`.
        """
        out = c_void_p()
        try:
            self.call(function, *arguments, byref(out), **how)
        except BaseException:
            take = free if rescue is None else rescue
            if out.value and take is not None:
                take(out.value)
            raise
        return out.value


@contextlib.contextmanager
def together(contexts):
    """The one of several contexts to make a call by that uses models of all of them: calls of the
    others wait, and Ctrl-C ends it all. All callers go by the same order, so that no two of them
    wait for each other."""
    *others, leader = sorted(set(contexts), key=lambda c: c.number)
    with contextlib.ExitStack() as held:
        for other in others:
            other.check_reentry()
            held.enter_context(other._lock)
            held.callback(setattr, other, "_led_by", None)
            other._led_by = leader
        yield leader


def _outside():
    """The stack level of the first caller that is not of this package."""
    level, frame = 2, sys._getframe(2)
    while frame is not None and frame.f_globals.get("__package__") == __package__:
        level, frame = level + 1, frame.f_back
    return level


class Owned:
    """A C object, freed with its last reference, before what it borrows from (`keep`)."""

    def __init__(self, pointer, free, *keep):
        self.pointer = pointer
        self.free = weakref.finalize(self, _free, free, pointer, keep)


def _free(free, pointer, keep):
    free(pointer)


def _renew_locks():
    # In a child process nobody holds them.
    for context in list(_contexts.values()):
        context._lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_locks)
