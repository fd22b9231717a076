"""Ranks: processes that mpirun or srun started to do one job together.

A process joins when it first asks for a cluster, and stays until the interpreter ends: which
contexts the garbage collector frees, and when, differs from rank to rank, and must not matter. A
rank that an exception ends tells the others, who fail with its reason instead of waiting for it.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import traceback
from ctypes import byref, c_uint, c_void_p
from typing import Tuple

from . import _c
from ._library import lib
from .errors import Error, from_c

_OK, _CANCELED = _c.STATUS["OK"], _c.STATUS["ECANCELED"]
_CHOICES = ("none", "mpi", "scalapack", "auto")
_SECONDS_TO_HEAR = 6  # that a rank has failed, for those who are busy
_SECONDS_TO_END = 3  # for a rank that has failed

_member = None


def rank() -> Tuple[int, int]:
    """``(rank, ranks)``: which one this process is of those that mpirun or srun started, from 0,
    and how many there are; (0, 1) when it was started alone."""
    ranks = c_uint()
    number = lib.lth_launched_rank(byref(ranks))
    return number, ranks.value


def join(cluster):
    """Take part in a cluster from now on: the process that does, None if there is no cluster."""
    global _member
    if cluster not in _CHOICES:
        raise Error(f"cluster wants one of {', '.join(_CHOICES)}, not {cluster!r}")
    if cluster == "none" or (cluster == "auto" and rank()[1] < 2):
        return None
    if _member is None:
        _member = _Member()
    check(_member.process)
    return _member.process


def check(process):
    if process != os.getpid():
        raise Error("a child process takes no part in the cluster of its parent")


class _Member:
    """A context of no other use than that it is there as long as the interpreter."""

    def __init__(self):
        options, pointer, error = _c.CtxOptions(), c_void_p(), _c.Error()
        lib.lth_ctx_options_init(byref(options))
        options.cluster = b"mpi"
        if lib.lth_ctx_create(byref(options), byref(pointer), byref(error)) != _OK:
            raise from_c(error)
        self.process = os.getpid()
        self._context = pointer.value
        self._failed = False
        self._name = f"rank {lib.lth_ctx_rank(self._context, None)}"
        self._show, sys.excepthook = sys.excepthook, self._on_exception
        atexit.register(self._leave)

    def _leave(self):
        if self._failed or self.process != os.getpid():
            return
        # After a failure nobody is left to take leave of: then MPI just ends with the process.
        if lib.lth_ctx_leave(self._context, None, None) == _OK:
            lib.lth_ctx_free(self._context)

    def _on_exception(self, kind, value, trace):
        if self.process != os.getpid():
            self._show(kind, value, trace)
            return
        self._failed = True
        heard = self._tell(traceback.format_exception_only(kind, value)[-1].strip())
        if heard in (None, "", self._name) and not _was_told(value):
            self._show(kind, value, trace)
        if heard is None:
            _end_now()
        _end_soon()

    def _tell(self, reason):
        """The name of the rank whose reason all hear; "" if they have heard one before, None if
        they do not listen."""
        why, error = _c.Error(), _c.Error()
        why.status, why.file = _CANCELED, self._name.encode()
        why.message = reason.encode()[:_c.Error.message.size - 1]
        teller = threading.Thread(target=lib.lth_ctx_leave, daemon=True,
                                  args=(self._context, byref(why), byref(error)))
        teller.start()
        teller.join(_SECONDS_TO_HEAR)
        return None if teller.is_alive() else error.file.decode()


def _was_told(value):
    """Whether this is the failure of another rank, which shows it."""
    return isinstance(value, Error) and value.status == "ECANCELED" and value.file[:5] == "rank "


def _end_now():
    """By a signal: then every launcher ends the others."""
    sys.stdout.flush()
    sys.stderr.flush()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)


def _end_soon():
    """MPI's owner may wait in its last call for ranks that are elsewhere."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(_SECONDS_TO_END)
