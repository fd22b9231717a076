"""The papers' matrix form of the string kernel, batched in PyTorch on a GPU: what luthier is measured against there.

For each order, with S the matches of a pair and D[j, k] = gap^(k - j - 1) above the diagonal (Beck & Cohn 2017):
k_i = sum of S * P, then P = D^T (S * P) D, two products of l x l matrices.
"""
import sys, time

import torch


def gram_seconds(pairs, length, order, dtype, gap=0.5):
    s = torch.randint(0, 52, (pairs, length), device="cuda")
    t = torch.randint(0, 52, (pairs, length), device="cuda")
    i = torch.arange(length, device="cuda")
    D = torch.where(i[None, :] > i[:, None], gap ** (i[None, :] - i[:, None] - 1).clamp(min=0).to(dtype), torch.zeros((), dtype=dtype, device="cuda"))

    def run():
        S = (s[:, :, None] == t[:, None, :]).to(dtype)
        P, k = torch.ones_like(S), []
        for _ in range(order):
            A = S * P
            k.append(A.sum((1, 2)))
            P = D.T @ A @ D
        return torch.stack(k)

    run()
    torch.cuda.synchronize()
    best = 1e9
    for _ in range(5):
        began = time.perf_counter()
        run()
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - began)
    return best


for length, pairs in ((100, 50000), (700, 1000)):
    for dtype in (torch.float64, torch.float32):
        seconds = gram_seconds(pairs, length, 5, dtype)
        rate = pairs * length * length * 5 / seconds
        print("matrix form in PyTorch, %s, %d pairs of %d: %.1f ms, %.3g cell-orders/s" % (str(dtype)[6:], pairs, length, 1e3 * seconds, rate), flush=True)
