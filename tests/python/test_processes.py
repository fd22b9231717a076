"""Signals, threads, child processes, and memory over time."""

import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import luthier as lt

KERNEL = "ssk(text, order=2)"

LONG = {
    "gram": 'lt.Kernel("ssk(s, units=chars, order=8)", n_jobs=1).gram(long)',
    "fit": 'lt.GPRegressor("ssk(s, units=chars, order=8)", n_jobs=1).fit(long, y)',
    "evidence": 'lt.GPRegressor("rbf(f1..f5)", n_jobs=1).fit(rng.normal(size=(4000, 5)), '
                'rng.normal(size=4000))',
    "svm": 'lt.SVC("ssk(s, units=chars, order=8)", n_jobs=1).fit(long, y > 0)',
    # One pair, which would take many minutes.
    "pair": 'lt.Kernel("ssk(s, units=chars, order=8)", n_jobs=1).gram(["ab" * 100000, "ba" * 100000])',
    "alignment": 'lt.Kernel("la(s)", n_jobs=1).gram(["ARND" * 100000, "DNRA" * 100000])',
}


@pytest.mark.parametrize("what", LONG)
def test_ctrl_c(what):
    """A real SIGINT ends a long call soon, with KeyboardInterrupt."""
    program = f"""
import luthier as lt, numpy as np, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background ignores it
rng = np.random.default_rng(1)
long = ["".join(rng.choice(list("abcdefgh"), 800)) for _ in range(900)]
y = rng.normal(size=900)
lt.Kernel("ssk(s)").gram(["a"])
print("ready", flush=True)
try:
    {LONG[what]}
except KeyboardInterrupt:
    print("interrupted", lt.Kernel("ssk(s)").gram(["a"]).tolist(), flush=True)
"""
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "ready\n"
        time.sleep(1)
        child.send_signal(signal.SIGINT)
        start = time.monotonic()
        rest = child.communicate(timeout=20)[0]
    finally:
        child.kill()
    assert rest == "interrupted [[1.0]]\n"
    assert time.monotonic() - start < 5


def test_a_handler_that_raises_stops_the_call():
    class Late(Exception):
        pass

    def late(*_):
        raise Late

    rows = ["ab" * 400] * 1000
    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(Late):
            lt.Kernel("ssk(s, units=chars, order=8)", n_jobs=1).gram(rows)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_two_threads(texts, scores):
    """Models of their own, and one that both use."""
    alone = lt.GPRegressor(KERNEL).fit(texts, scores)
    expected = alone.predict(texts)
    failures = []

    def work():
        try:
            for _ in range(5):
                mine = lt.GPRegressor(KERNEL).fit(texts, scores)
                np.testing.assert_array_equal(mine.predict(texts), expected)
                np.testing.assert_array_equal(alone.predict(texts), expected)
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_the_interpreter_goes_on_while_c_works():
    done = []
    rows = ["ab" * 300] * 60
    thread = threading.Thread(target=lambda: done.append(
        lt.Kernel("ssk(s, units=chars, order=8)", n_jobs=1).gram(rows)))
    thread.start()
    turns = 0
    while thread.is_alive():
        turns += 1
        time.sleep(0.001)
    assert done and turns > 20


def _in_child(model, kernel, texts, queue):
    queue.put((model.predict(texts), kernel.gram(texts)))


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_child_processes(method, texts, scores):
    model = lt.GPRegressor(KERNEL, n_jobs=2).fit(texts, scores)
    kernel = lt.Kernel("ssk(text, order=3)", n_jobs=2)
    expected = model.predict(texts), kernel.gram(texts)
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(model, kernel, texts, queue))
    child.start()
    found = queue.get(timeout=60)
    child.join(60)
    assert child.exitcode == 0
    for a, b in zip(found, expected):
        np.testing.assert_array_equal(a, b)


def test_fork_while_another_thread_computes(texts):
    kernel = lt.Kernel("ssk(s, units=chars, order=6)", n_jobs=2)
    busy = threading.Thread(target=kernel.gram, args=(["ab" * 200] * 100,))
    busy.start()
    child = os.fork()
    if child == 0:
        os._exit(0 if kernel.gram(["abc"]).shape == (1, 1) else 1)
    deadline = time.monotonic() + 30
    status = None
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.02)
    else:
        os.kill(child, signal.SIGKILL)
        pytest.fail("the child hangs")
    busy.join()
    assert status == 0


def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


def test_memory_does_not_grow(texts, scores, moods):
    def everything(i):
        new = [f"word{i} and{i} more{i}"]
        gp = lt.GPRegressor(KERNEL, restarts=0, max_iter=2, n_jobs=1).fit(texts, scores)
        gp.predict(new, return_std=True)
        lt.SVC(KERNEL, n_jobs=1).fit(texts, moods).predict(new)
        lt.Kernel(KERNEL, n_jobs=1).gram(new, texts)
        with pytest.raises(lt.Error):
            lt.Kernel("ssk(text").gram(new)

    kept = lt.GPRegressor(KERNEL, restarts=0, n_jobs=1).fit(texts, scores)
    for i in range(150):
        everything(i)
        kept.predict([f"new{i} words{i}"])
    before = resident()
    for i in range(150, 1150):
        everything(i)
        kept.predict([f"new{i} words{i}"])
    assert resident() - before < 6e6


def test_ctrl_c_keeps_the_best_so_far(tmp_path):
    """KeyboardInterrupt comes, but the model is there, and a journal goes on."""
    program = """
import luthier as lt, numpy as np, signal, sys, threading, time
from luthier import gp
signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(1)
texts = ["".join(rng.choice(list("abcd"), 12)) for _ in range(60)]
y = np.array([t.count("ab") for t in texts]) + rng.normal(size=60) * 0.1

class Hit:  # is shown every step: the interrupt comes at the fifth
    def __init__(self, wanted):
        self.steps = 0
    def show(self, text):
        self.steps += 1
        if self.steps == 5:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            time.sleep(0.1)
    def end(self):
        pass

progress, gp.progress = gp.progress, Hit
m = lt.GPRegressor("ssk(s, units=chars)", n_jobs=1, journal=sys.argv[1])
try:
    m.fit(texts, y)
except KeyboardInterrupt:
    print("interrupted", m.interrupted_, m.predict(texts).shape, len(m.trace_))
gp.progress = progress
first = m.log_evidence_
m.fit(texts, y)
print(m.interrupted_, m.log_evidence_ > first, m.log_evidence_ == lt.GPRegressor(
    "ssk(s, units=chars)", n_jobs=1).fit(texts, y).log_evidence_)
"""
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "journal")],
                          capture_output=True, text=True, timeout=60)
    first, second = done.stdout.splitlines()
    assert first.startswith("interrupted True (60,)") and second == "False True True"
