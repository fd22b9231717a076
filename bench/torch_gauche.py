#!/usr/bin/env python3
"""luthier.torch beside GAUCHE's string kernel: a Gram matrix and its gradient through PyTorch.

  python3 bench/torch_gauche.py [--strings N] [--length N] [--check]

Both have the same strings, the same hyperparameters and one core, in one run; values and gradients
are compared. --check fails when luthier is not 100 times as fast, or when they do not agree. It
needs torch, gpytorch and gauche from PyPI.
"""
import argparse
import pathlib
import platform
import random
import sys
import time
import warnings
from importlib.metadata import version

warnings.filterwarnings("ignore")
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

import torch  # noqa: E402
from gauche.kernels.string_kernels import SubsequenceStringKernel  # noqa: E402
from gauche.kernels.string_kernels.sskkernel import build_one_hot, encode_string, pad  # noqa: E402

import luthier as lt  # noqa: E402
import luthier.torch as lt_torch  # noqa: E402

ORDER, BLOCK = 5, 10
LETTERS = "ACDEFGHIKLMNPQRSTVWY"


def seconds(call):
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def by_gauche(strings, weights):
    """(seconds, values, gradient by natural values, these), some rows at a time: a
    backward pass keeps all of its pairs in memory, 1.6 GB of ten rows against a hundred."""
    vectors, index = build_one_hot(LETTERS)
    length = max(map(len, strings))
    rows = torch.stack([pad(encode_string(s, index), length) for s in strings])
    kernel = SubsequenceStringKernel(vectors.float(), index, LETTERS, maxlen=length,
                                     normalize=False)

    def work():
        values = []
        for first in range(0, len(rows), BLOCK):
            part = kernel.forward(rows[first:first + BLOCK], rows)
            (part * weights[first:first + BLOCK].float()).sum().backward()
            values.append(part.detach())
        return torch.cat(values)

    elapsed, values = seconds(work)
    natural = {"gap": kernel.gap_decay, "match": kernel.match_decay, "weights": kernel.order_coefs}
    raw = [kernel.raw_gap_decay, kernel.raw_match_decay, kernel.raw_order_coefs]
    slope = [p.grad / (torch.sigmoid(p) * (1 - torch.sigmoid(p))) for p in raw]
    return elapsed, values.double(), torch.cat(slope).detach().double(), {
        name: value.detach().double() for name, value in natural.items()}


def by_luthier(strings, weights, natural):
    gap, match = natural["gap"].item(), natural["match"].item()
    orders = ",".join(repr(w) for w in natural["weights"].tolist())
    kernel = lt.Kernel(f"ssk(text, units=chars, order={ORDER}, gap={gap!r}, match={match!r}, "
                       f"weights=[{orders}])", n_jobs=1)
    theta = lt_torch.parameters(kernel).theta

    def work():
        theta.grad = None
        kernel._torch = None  # with the encoding of the rows
        values = lt_torch.gram(kernel, strings, theta=theta)
        (values * weights).sum().backward()
        return values.detach()

    work()
    elapsed, values = min((seconds(work) for _ in range(5)), key=lambda found: found[0])
    return elapsed, values, theta.grad / theta.detach().exp()


def apart(a, b):
    return ((a - b).abs().max() / b.abs().max()).item()


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--strings", type=int, default=100)
    options.add_argument("--length", type=int, default=100)
    options.add_argument("--check", action="store_true")
    options = options.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    chance = random.Random(1)
    strings = ["".join(chance.choices(LETTERS, k=options.length)) for _ in range(options.strings)]
    weights = torch.rand(options.strings, options.strings, dtype=torch.float64)

    theirs, K, slope, natural = by_gauche(strings, weights)
    ours, values, gradient = by_luthier(strings, weights, natural)
    print(f"{options.strings} strings of {options.length}, order {ORDER}, value and gradient, one "
          f"core, processor time; PyTorch {torch.__version__}, {platform.processor() or 'CPU'}")
    print(f"GAUCHE {version('gauche')} (float32)   {theirs:10.3f} s")
    print(f"luthier {lt.__version__} (float64)  {ours:10.4f} s")
    print(f"ratio                    {theirs / ours:10.0f}")
    print(f"values apart {apart(K, values):.1e} of the largest, gradients {apart(slope, gradient):.1e}")
    bad = apart(K, values) > 1e-4 or apart(slope, gradient) > 1e-3
    if options.check and (bad or theirs < 100 * ours):
        sys.exit("they do not agree" if bad else "luthier is not 100 times as fast")


if __name__ == "__main__":
    main()
