"""A solver for problems of poli, with the interface of poli-baselines, by luthier's designs.

`LuthierSolver` is used as any solver there: ``solver.solve(max_iter=10)``. Without these packages
a problem and a base class of the same interface are used.
"""

import numpy as np

import luthier as lt

try:
    from poli_baselines.core.abstract_solver import AbstractSolver
except ImportError:
    print("poli-baselines is not installed: a base class of the same interface is used")

    class AbstractSolver:
        def __init__(self, black_box, x0, y0):
            self.black_box, self.x0, self.y0 = black_box, x0, y0
            self.history = {"x": [row[None] for row in x0], "y": [row[None] for row in y0]}

        def post_update(self, x, y):
            pass

        def step(self):
            x = self.next_candidate()
            y = self.black_box(x)
            self.history["x"] += [row[None] for row in x]
            self.history["y"] += [row[None] for row in y]
            self.post_update(x, y)
            return x, y

        def solve(self, max_iter=100):
            for _ in range(max_iter):
                self.step()

        def get_best_performance(self):
            return np.nanmax(np.concatenate(self.history["y"]), axis=0)


class LuthierSolver(AbstractSolver):
    """Asks a design for `batch_size` texts at a time, and tells it what the black box says.

    `space` is a rule as for `lt.Space`; `options` are those of `lt.Design`.
    """

    def __init__(self, black_box, x0, y0, space, kernel="sites(text)", batch_size=1, **options):
        super().__init__(black_box, x0, y0)
        self.batch_size = batch_size
        self.design = lt.Design(kernel, space=space, **options)
        self.post_update(x0, y0)

    def next_candidate(self):
        texts = self.design.ask(self.batch_size)
        longest = max(map(len, texts))
        return np.array([list(text) + [""] * (longest - len(text)) for text in texts])

    def post_update(self, x, y):
        # A row of poli's is an array of tokens, filled up with empty ones.
        y = np.asarray(y, dtype=float)[:, 0]
        self.design.tell(["".join(row) for row in x], np.where(np.isfinite(y), y, np.nan))


def aloha(x):
    """How many letters of a word of five are those of ALOHA."""
    return np.array([[sum(a == b for a, b in zip(row, "ALOHA"))] for row in x])


def problem():
    try:
        from poli.objective_repository import AlohaProblemFactory
    except ImportError:
        print("poli is not installed: the problem is written here")
        return aloha, np.array([list("ALOOF")])
    made = AlohaProblemFactory().create()
    return made.black_box, made.x0


def main():
    black_box, x0 = problem()
    letters = [chr(ord("A") + i) for i in range(26)]
    x0 = np.concatenate([x0, np.random.default_rng(1).choice(letters, size=(40, 5))])
    solver = LuthierSolver(black_box, x0, black_box(x0), f"alphabet={''.join(letters)}, length=5",
                           batch_size=10, restarts=0, evaluations=2000)
    solver.solve(max_iter=8)
    text, value = solver.design.best
    print(f"{text}: {value:g}, after {solver.design.status['measured']} of 26^5 words")
    assert solver.get_best_performance()[0] == value


if __name__ == "__main__":
    main()
