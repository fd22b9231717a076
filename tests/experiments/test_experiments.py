"""The experiments: the page is what the result files say, a run goes on where it stopped, what is missing is skipped."""

import argparse, json, os, signal, subprocess, sys, tempfile, time, unittest

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
RUN = os.path.join(ROOT, "experiments/run")
sys.path.insert(0, os.path.join(ROOT, "experiments"))

# Stands for luthier: counts its calls, and prints what `luthier align` prints. With a file "wait" beside it, the third call hangs.
FAKE = """#!/bin/sh
here=$(dirname "$0")
[ "$1" = --version ] && echo "luthier 0" && exit
echo "$@" >>"$here/calls"
[ -e "$here/fail" ] && echo "no memory" >&2 && exit 1
[ -e "$here/wait" ] && [ $(wc -l <"$here/calls") -ge 3 ] && exec sleep 60
printf 'alignment\\t0.25\\n'
"""
ROWS = 6  # of reuters_approx --quick


class Fake(unittest.TestCase):
    """reuters_approx on two made-up documents, without luthier."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.write("luthier", FAKE)
        os.chmod(self.path("luthier"), 0o755)
        os.mkdir(self.path("data"))
        self.write("data/reuters_lodhi470.tsv", "id\tsplit\tlabel\ttext\n1\ttrain\tearn\tone two\n2\ttest\tacq\tthree\n")

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w") as out:
            out.write(text)

    def command(self, *more):
        return [
            sys.executable,
            RUN,
            "reuters_approx",
            "--quick",
            "--data",
            self.path("data"),
            "--luthier",
            self.path("luthier"),
            "--results",
            self.path("results"),
            "--figures",
            self.path("figures"),
            *more,
        ]

    def run_it(self, *more, status=0):
        done = subprocess.run(self.command(*more), text=True, capture_output=True)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def calls(self):
        if not os.path.exists(self.path("calls")):
            return 0
        with open(self.path("calls")) as file:
            return len(file.readlines())

    def rows(self):
        with open(self.path("results/reuters_approx.json")) as file:
            return json.load(file)["rows"]

    def test_rows_are_kept(self):
        self.run_it("--most", "2")
        self.assertEqual((self.calls(), len(self.rows())), (2, 2))
        self.assertIn("6 rows, 4 of them new", self.run_it())
        self.assertEqual((self.calls(), len(self.rows())), (ROWS, ROWS))
        self.assertIn("6 rows, 0 of them new", self.run_it())
        self.assertEqual(self.calls(), ROWS)

    def test_record(self):
        self.run_it("--most", "1")
        record = self.rows()["n=3 / frequent / 5"]
        self.assertEqual(record["values"], {"alignment": 0.25})
        self.assertEqual(
            record["commands"],
            [
                "luthier align short.tsv --where split=train --kernel 'normalize(approx_ssk(text, n=3, gap=0.5, features=5, choose=frequent))' "
                "--with 'normalize(ssk(text, units=chars, order=3, gap=0.5, weights=[0,0,1]))' -q"
            ],
        )
        self.assertIs(record["quick"], True)
        self.assertIn("cores", record["measured"]["machine"])

    def test_again(self):
        self.run_it()
        self.run_it("--again")
        self.assertEqual(self.calls(), 2 * ROWS)

    def test_changed_command_is_run_again(self):
        self.run_it()
        with open(self.path("results/reuters_approx.json")) as file:
            text = file.read()
        self.write("results/reuters_approx.json", text.replace("features=5,", "features=6,", 1))
        self.assertIn("6 rows, 1 of them new", self.run_it())

    def test_interrupted(self):
        self.write("wait", "")
        child = subprocess.Popen(
            self.command(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell in the background ignores it
        )
        for _ in range(200):
            if self.calls() >= 3:
                break
            time.sleep(0.05)
        os.killpg(child.pid, signal.SIGINT)
        self.assertIn("interrupted: what was measured is kept", child.communicate(timeout=20)[0])
        self.assertEqual((child.returncode, len(self.rows())), (130, 2))
        os.remove(self.path("wait"))
        self.assertIn("6 rows, 4 of them new", self.run_it())
        self.assertEqual(self.calls(), 3 + 4)

    def test_failure(self):
        self.write("fail", "")
        text = self.run_it(status=1)
        self.assertIn("reuters_approx: failed: luthier align", text)
        self.assertIn("no memory", text)

    def test_missing_luthier(self):
        os.remove(self.path("luthier"))
        self.assertIn("reuters_approx: skipped: there is no %s" % self.path("luthier"), self.run_it())

    def test_unknown_name(self):
        done = subprocess.run([sys.executable, RUN, "nonsense"], text=True, capture_output=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no experiment nonsense; there are: best_of_luthier", done.stderr)

    def test_missing_data(self):
        names = [n for n in every_name() if n not in ("string_time", "design_ehrlich")]  # which need none
        done = subprocess.run(
            [
                sys.executable,
                RUN,
                *names,
                "--quick",
                "--data",
                self.path("nowhere"),
                "--luthier",
                self.path("luthier"),
                "--results",
                self.path("results"),
                "--figures",
                self.path("figures"),
            ],
            text=True,
            capture_output=True,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for name in names:
            self.assertRegex(done.stdout, "%s: skipped: there is no .* in %s" % (name, self.path("nowhere")))
        self.assertEqual(self.calls(), 0)


def every_name():
    listed = subprocess.run([sys.executable, RUN, "list"], text=True, capture_output=True, check=True).stdout.splitlines()
    return [line.split()[0] for line in listed[1:-1]]


class Committed(unittest.TestCase):
    """What is in the repository."""

    def test_page_is_up_to_date(self):
        done = subprocess.run([sys.executable, RUN, "page", "--check"], text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_old_page_is_noticed(self):
        with tempfile.NamedTemporaryFile("w", suffix=".md") as page:
            page.write("# Results\n")
            page.flush()
            done = subprocess.run([sys.executable, RUN, "page", "--check", "--page", page.name], text=True, capture_output=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("experiments/run page makes it anew", done.stderr)

    def test_files_are_as_they_are_written(self):
        from lab import dump

        folder = os.path.join(ROOT, "experiments/results")
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                text = file.read()
            content = json.loads(text)
            self.assertEqual(dump(content), text, name)
            for row, record in content["rows"].items():
                self.assertTrue(record["commands"], (name, row))
                self.assertIs(record["quick"], False, (name, row))
                self.assertRegex(record["measured"]["when"], r"^\d{4}-\d\d-\d\d$", (name, row))

    def test_programs_agree(self):
        from lab import Store

        rows = Store(os.path.join(ROOT, "experiments/results"), "string_time").rows
        sums = {}
        for name, record in rows.items():
            sums.setdefault(name.split(" / ")[0], []).append(record["values"]["sum"])
        for length, found in sums.items():
            self.assertGreaterEqual(len(found), 4, length)
            for value in found:
                self.assertAlmostEqual(value / found[0], 1, 6, length)

    def test_figures_of_the_page_are_there(self):
        with open(os.path.join(ROOT, "docs/results.md"), encoding="utf-8") as file:
            pictures = [part.split(")")[0] for part in file.read().split("](figures/")[1:]]
        self.assertTrue(pictures)
        for picture in pictures:
            for name in (picture, picture.replace(".svg", ".png")):
                self.assertTrue(os.path.exists(os.path.join(ROOT, "docs/figures", name)), name)


class Numbers(unittest.TestCase):
    def test_correlation_of_parts(self):
        from figures import correlation, moments

        parts = [moments([(1.0, 2.0), (2.0, 1.0)]), moments([(3.0, 5.0)])]
        self.assertAlmostEqual(correlation([sum(x) for x in zip(*parts)]), 9 / (12 * 13) ** 0.5, 12)

    def test_quantile(self):
        from figures import quantile

        self.assertEqual([quantile([4, 1, 3, 2], q) for q in (0, 0.25, 0.5, 1)], [1, 1.75, 2.5, 4])

    def test_choice_by_evidence(self):
        from best_of_luthier import by_evidence

        def fold(name, evidence, mae):
            return {
                "target": "y",
                "fold": name,
                "evidence": evidence,
                "nlpd": 1.0,
                "mae": mae,
                "rmse": 1.0,
                "r": 0.5,
                "sums": [2, 1.0, 1.0, 1.0, 1.0, 1.0],
            }

        rows = {
            "a": {"values": {"folds": [fold("0", -10, 1.0), fold("1", -20, 2.0), fold("2", -5, 3.0)]}},
            "b": {"values": {"folds": [fold("0", -11, 10.0), fold("1", -19, 20.0), fold("2", -6, 30.0)]}},
            "c": {"values": {}},
        }
        found = by_evidence(rows, ["a", "b", "c"])
        self.assertAlmostEqual(found["mae"], (1 + 20 + 3) / 3)
        self.assertEqual(found["how"], "evidence, of 2 models; mostly `a` (2 of 3)")
        self.assertIsNone(by_evidence(rows, ["a", "c"]))

    def test_ranks(self):
        from scale import ranks

        self.assertEqual(ranks([3.0, 1.0, 3.0, 2.0]), [2.5, 0, 2.5, 1])

    def test_nodes_of_a_tree(self):
        from scale_curves import nodes

        found = nodes("(3 (2 not) (1 (2 so) (0 bad)))")
        self.assertEqual(found, [("2", "not"), ("2", "so"), ("0", "bad"), ("1", "so bad"), ("3", "not so bad")])

    def test_sentences(self):
        from sentiment import binary, without

        trees = ["(0 (2 a) (1 b))", "(2 c)", "(4 (3 d) (2 e))", "(3 f)"]
        self.assertEqual(without(trees, ["(2 c)", "(3 f)"]), [trees[0], trees[2]])
        self.assertEqual(binary(trees), ["(negative (2 a) (1 b))", "(positive (3 d) (2 e))", "(positive f)"])

    def test_training_sets_contain_smaller_ones(self):
        from scale import parted, training

        rows = parted((1, 3), [["a"], ["b"], ["c"], ["d"]], [["e"]])
        self.assertEqual(rows, [["1", "a"], ["3", "b"], ["3", "c"], ["test", "e"]])
        self.assertEqual([training((1, 3), n) for n in (1, 3)], ["part=1", "part=1,3"])

    def test_memory_of_a_command(self):
        from lab import Lab, Weighed

        lab = Lab(argparse.Namespace(quick=True, device="", data="", luthier=""), None)
        self.addCleanup(lab.close)
        for size in (1, 200):
            peak = lab.run(Weighed([sys.executable, "-c", "bytearray(%d << 20)" % size])).bytes >> 20
            self.assertTrue(size < peak < size + 100, peak)

    def test_rows_until_the_best(self):
        from design_pools import best_at_random, until_best

        campaign = {"rows": [10, 20, 30], "best": [0.5, 1.0, 1.0], "found": True}
        self.assertEqual(until_best(campaign), 20)
        self.assertEqual(until_best({**campaign, "found": False}), 30)
        with tempfile.NamedTemporaryFile("w", suffix=".tsv") as pool:
            pool.write("y\tx\n1\ta\n3\tb\n2\tc\n3\td\n3\te\n")
            pool.flush()
            self.assertEqual(best_at_random(pool.name, "y"), 6 / 4)

    def test_f1(self):
        from documents import f1

        pairs = [["yes", "yes"]] * 3 + [["yes", "no"]] + [["no", "yes"]] * 2 + [["no", "no"]] * 4
        self.assertEqual(f1(pairs), [6 / 9, 3 / 5, 3 / 4])


if __name__ == "__main__":
    unittest.main()
