"""The model of time for many ranks: it counts every product of tiles once, whatever the grid, and prints its tables."""

import contextlib, importlib.machinery, importlib.util, io, json, os, sys, unittest

sys.dont_write_bytecode = True
ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
SCRIPT = os.path.join(ROOT, "bench/cluster_growth")
loader = importlib.machinery.SourceFileLoader("cluster_growth", SCRIPT)
growth = importlib.util.module_from_spec(importlib.util.spec_from_loader("cluster_growth", loader))
loader.exec_module(growth)

GRIDS = (1, 2, 3, 4, 6, 16)


def machine(**tile):
    """A tile costs nothing but for what is named; messages cost nothing either."""
    kinds = ("nt", "nn", "tn", "right", "solve", "cholesky", "copy")
    costs = {"tiles": {"64": {kind: tile.get(kind, 0) for kind in kinds}}, "product": {}, "kernel": {},
             "here": {"threads": 1, "efficiency": 1, "latency": 0, "bandwidth": 1e30, "memory": 1e30}}
    return growth.Machine(costs, "here")


def work(grid):
    return sum(map(sum, grid.work))


class Growth(unittest.TestCase):
    N = 64 * 11  # tiles of 64, none of them smaller

    def test_sides_are_those_of_the_library(self):
        self.assertEqual([growth.tile_side(n) for n in (1999, 2000, 32767, 32768, 10**6)], [64, 128, 128, 256, 1024])

    def test_a_factor_has_as_many_products_on_any_grid(self):
        expected = sum(1 for k in range(11) for j in range(k + 1, 11) for i in range(j, 11))
        for ranks in GRIDS:
            self.assertEqual(work(growth.factor(machine(nt=1), self.N, ranks)), expected)
            self.assertEqual(work(growth.factor(machine(right=1), self.N, ranks)), 11 * 10 / 2)
            self.assertEqual(work(growth.factor(machine(cholesky=1), self.N, ranks)), 11)

    def test_an_inverse_has_as_many_products_on_any_grid(self):
        made = sum(k for k in range(11))
        updates = sum(1 for k in range(11) for m in range(11) for j in range(11) if j <= m and j <= k)
        for ranks in GRIDS:
            self.assertEqual(work(growth.invert(machine(nn=1), self.N, ranks)), made + updates)
            self.assertEqual(work(growth.invert(machine(solve=1), self.N, ranks)), 11)

    def test_time_is_between_the_work_of_all_and_that_of_the_busiest(self):
        costs = machine(nt=1, nn=1, right=1, solve=1, cholesky=1)
        for step in (growth.factor, growth.invert):
            alone = step(costs, self.N, 1)
            self.assertEqual(alone.seconds(), work(alone))
            for ranks in GRIDS[1:]:
                g = step(costs, self.N, ranks)
                self.assertGreaterEqual(g.seconds(), max(map(max, g.work)))
                self.assertLess(g.seconds(), work(g))

    def test_slices_are_shared_by_up_to_64_ranks(self):
        self.assertEqual(growth.inducing_slices(10**6, 1000), (8192, 123))
        self.assertEqual([growth.most_slices(123, ranks)[0] for ranks in (1, 2, 64, 256)], [123, 62, 2, 2])

    def test_tables(self):
        with open(growth.COSTS) as file:
            costs = json.load(file)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            growth.print_growth(growth.Machine(costs, "node"), [3000])
            growth.print_check(growth.Machine(costs, "here"), 3000, 4)
        self.assertEqual(out.getvalue().count("Estimates."), 4)
        self.assertIn("| 3,000 | ", out.getvalue())


if __name__ == "__main__":
    unittest.main()
