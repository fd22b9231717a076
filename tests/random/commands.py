#!/usr/bin/env python3
"""Random commands over ugly tables, and what must hold of each (command_checks.py):

    commands.py LUTHIER [--cases N] [--seconds S] [--seed N] [--keep FOLDER]

Exit codes are those of the manual, no command is ended by a signal or takes a minute, an error leaves no file and has
one reason, nothing printed with exit code 0 is infinite or not a number, a model that was written is read, and one
thread says the same as two. What fails is shrunk, printed as a session, and kept with its tables."""
import argparse
import os
import random
import shlex
import shutil
import sys
import tempfile
import time

import command_tables as tables
from command_checks import Runner, Step
from command_lines import Call, Manual, Writer

MOST_FOUND = 12


class Case:
    """Tables and commands."""

    def __init__(self, seed, form, train, others, files, steps):
        self.seed, self.form, self.train, self.others, self.named, self.steps = seed, form, train, others, files, steps

    def copy(self):
        return Case(self.seed, self.form, self.train.copy(), self.others.copy(), dict(self.named), [s.copy() for s in self.steps])

    def files(self):
        return {**self.named, "train." + self.form: self.train.bytes(self.form), "others." + self.form: self.others.bytes(self.form)}


# ---- Cases ----

def make(seed, manual):
    r = random.Random(seed)
    wild = tables.letters(r, tables.AMINO, 3 + r.randrange(8))
    form = r.choice(["tsv", "csv", "csv", "jsonl"])
    train, others = tables.make(r, wild=wild), tables.make(r, rows=r.choice([1, 3, 6]), wild=wild, ugly=.3)
    w = Writer(r, manual, wild)
    what = r.choices([fitted, crossed, matrices, campaign], [60, 15, 15, 10])[0]
    steps = what(w, r)
    for step in steps: # tables by the names of their files
        step.words = [("%s.%s" % (x, form) if x in ("train", "others") else x) for x in step.words]
        step.options = [[o, "%s.%s" % (v, form) if v in ("train", "others") else v] for o, v in step.options]
    return Case(seed, form, train, others, tables.others(r, wild), steps)


def model_of(how):
    return "svm" if ["model", "svm"] in how else "gp"


def merge(*lists):
    """Options, each name once: the first."""
    out = {}
    for options in lists:
        for name, value in options:
            out.setdefault(name, value)
    return [[name, value] for name, value in out.items()]


def fit(w, name="M"):
    kernel, how = w.kernel(), w.task()
    options = merge([["kernel", kernel]], how, w.some("fit", kernel, model=model_of(how), never=["target", "gram"]), [["output", name]])
    if any(str(kernel).find(f) >= 0 for f in ("mean(", "semantic(", "sim=")) and w.chance(.9):
        options = merge(options, [["vectors", "vectors.txt"]])
    step = Step(["fit", "train"], options, [name])
    if "--plan" in step.line() and w.chance(.8):
        step.options = [o for o in step.options if o[0] != "plan"]
    return step


READ_ALSO = ("array", "format", "where", "label-by", "vectors") # what reads the table as it was read for the fit


def fitted(w, r):
    """A model, which show and predict must read, and what else can be done with it."""
    first = fit(w)
    same = [o for o in first.options if o[0] in READ_ALSO]
    steps = [first, Step(["show", "M"], w.some("show"), needs=["M"], must=True),
             Step(["predict", "M", "train"], merge(same, w.some("predict", never=["given", "isa", "seed", "latent", "score", *READ_ALSO])), needs=["M"], must=True)]
    if r.random() < .15:
        steps.insert(1, Step(["fit", "train"], merge([["kernel", w.kernel()]], [o for o in first.options if o[0] != "output"], [["output", "M2"]]), ["M2"]))

    def more(words, command, options=(), writes=()):
        steps.append(Step(words, merge(options, same if w.chance(.8) else [], w.some(command)), writes, needs=["M"] + ["M2"] * ("M2" in words)))
    ways = [
        lambda: more(["predict", "M", "others"], "predict", [["output", "P"]] if w.chance(.5) else [], ["P"]),
        lambda: more(["predict", "M", "train"], "predict", [["score", ""]]),
        lambda: more(["explain", "M", r.choice(["train", "others"])], "explain", [["row", "1,2"]] if w.chance(.5) else []),
        lambda: more(["explain", "M"], "explain"),
        lambda: more(["report", "M"], "report", [["output", "R.html"]] + [["data", r.choice(["train", "others"])]] * w.chance(.5), ["R.html"]),
        lambda: more(["mutate", "M"], "mutate", [["wild-type", "wild.fa"]]),
        lambda: more(["scan", "M", "s.fa"], "scan", [["column", r.choice(["dna", "protein", "text"])]] * w.chance(.3)),
        lambda: more(["propose", "M"], "propose", [["from", "others"], ["count", r.choice("123")]]),
        lambda: more(["compare", "M", r.choice(["M", "M2"]), "train"], "compare"),
        lambda: more(["show", "M"], "show", [["json", ""]]),
    ]
    for way in r.sample(ways, 3):
        way()
    return steps


def crossed(w, r):
    kernel, how = w.kernel(), w.task()
    options = merge([["kernel", kernel], ["folds", r.choice(["2", "2", "3"])]], how, [["predictions", "P"]] * w.chance(.5),
                    w.some("cv", kernel, model=model_of(how), never=["target", "gram"]))
    return [Step(["cv", "train"], options, ["P"])]


def matrices(w, r):
    """What needs no model: matrices, and models from them."""
    kernel = w.kernel()
    what = r.choice(["gram", "zarr", "align", "sample"])
    if what == "align":
        return [Step(["align", "train"], merge([["kernel", kernel], ["with", w.kernel()]] if w.chance(.6) else
                                               [["kernel", kernel], ["target", r.choice(["y", "two", "three"])]], w.some("align", kernel, never=["gram"])))]
    if what == "sample":
        return [Step(["sample", "train"], merge([["kernel", kernel], ["noise", r.choice(["0.1", "1e-9", "1e139", "1e300"])]], w.some("sample", kernel)))]
    if what == "gram":
        return [Step(["gram", "train"], merge([["kernel", kernel], ["output", "K.npy"]], w.some("gram", kernel)), ["K.npy", "out-gradients"])]
    read = [["kernel", kernel], ["gram", "K.zarr"]]
    return [Step(["gram", "train"], merge([["kernel", kernel], ["output", "K.zarr"]], w.some("gram", kernel, never=["part", "where", "gradients"])), ["K.zarr"]),
            Step(["fit", "train"], merge(read, w.task(), [["output", "M"]]), ["M"], needs=["K.zarr"]),
            Step(["show", "M"], [], needs=["M"], must=True),
            Step(["align", "train"], merge(read, [["target", "y"]]), needs=["K.zarr"])]


def campaign(w, r):
    kernel, target = w.kernel(), r.choice(["y", "y", "y,z", "two", "count"])
    learn = [["kernel", kernel], ["target", target], ["max-iter", "2"], ["restarts", "0"]]
    never = ["feasible", "target"]
    if w.chance(.3):
        return [Step(["design", "simulate", "train"], merge(learn, [["count", "1"], ["rounds", "1"], ["seeds", "1"]], w.some("design", kernel, never=never)))]
    at = ["lab"]
    return [Step(["design", "new", "lab"], merge(learn, [["from", "train"]], w.some("design", kernel, never=never)), at),
            Step(["design", "tell", "lab", r.choice(["train", "others"])], [], at, needs=at),
            Step(["design", "ask", "lab"], merge([["count", "2"], ["output", "A.tsv"]], w.some("design", never=["kernel", "from", *never])), at + ["A.tsv"], needs=at),
            Step(["design", "status", "lab"], [["json", ""]] if w.chance(.5) else [["output", "lab.html"]], at + ["lab.html"], needs=at),
            Step(["design", "forget", "lab", "A.tsv"], [], at, needs=["A.tsv"])]


# ---- Shrinking ----

def smaller(case):
    """All cases that are simpler by one step, from the boldest on."""
    def with_steps(steps):
        less = case.copy()
        less.steps = steps
        return less
    for i in range(len(case.steps)):
        if len(case.steps) > 1:
            yield with_steps([s.copy() for k, s in enumerate(case.steps) if k != i])
    for which in ("train", "others"):
        rows = len(getattr(case, which).rows)
        size = rows
        while size >= 1:
            for begin in range(0, rows, size):
                less = case.copy()
                del getattr(less, which).rows[begin:begin + size]
                yield less
            size //= 2
    for i, step in enumerate(case.steps):
        for k, (name, value) in enumerate(step.options):
            less = case.copy()
            del less.steps[i].options[k]
            yield less
            if isinstance(value, Call):
                for simpler in value.smaller():
                    less = case.copy()
                    less.steps[i].options[k][1] = simpler
                    yield less
    for name in case.train.names:
        less = case.copy()
        for grid in (less.train, less.others):
            if name in grid.names and all(len(row) == len(grid.names) for row in grid.rows):
                at = grid.names.index(name)
                del grid.names[at]
                for row in grid.rows:
                    del row[at]
        yield less
    for which in ("train", "others"):
        grid = getattr(case, which)
        for i, row in enumerate(grid.rows):
            for k, cell in enumerate(row):
                for simple in (b"1", b"a", cell[:len(cell) // 2]):
                    if len(simple) < len(cell):
                        less = case.copy()
                        getattr(less, which).rows[i][k] = simple
                        yield less


def shrink(case, finding, runner, seconds=40):
    end = time.monotonic() + seconds
    progress = True
    while progress and time.monotonic() < end:
        progress = False
        for less in smaller(case):
            if time.monotonic() >= end:
                break
            if finding.same(runner.check(less)):
                case, progress = less, True
                break
    return case, runner.check(case) or finding


# ---- Telling ----

def session(case):
    return "".join("luthier %s\n" % shlex.join(step.line()) for step in case.steps)


def tell(case, finding, keep):
    folder = os.path.join(keep, "case-%d" % case.seed)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    lines = session(case)
    for name, data in {**case.files(), "session": lines.encode()}.items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)
    print("FAILED seed %d: %s" % (case.seed, finding))
    print("".join("    " + line + "\n" for line in lines.splitlines()) + "    in %s, where the table is" % folder)
    data = case.files()["train." + case.form]
    print("".join("        %s\n" % repr(line)[2:-1][:200] for line in data.splitlines()[:8]), flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("luthier")
    p.add_argument("--cases", type=int, default=0)
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--keep", default=".")
    a = p.parse_args()
    program = os.path.abspath(a.luthier)
    manual = Manual(program)
    work = tempfile.mkdtemp(prefix="random-commands-")
    runner = Runner(program, manual, os.path.join(work, "folder"))
    end, seed, found = time.monotonic() + a.seconds, a.seed, 0
    try:
        while found < MOST_FOUND and (seed < a.seed + a.cases if a.cases else time.monotonic() < end):
            case = make(seed, manual)
            finding = runner.check(case)
            if finding:
                found += 1
                tell(*shrink(case, finding, runner), a.keep)
            seed += 1
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print("%d cases from seed %d, %d commands, %d of them refused, %d failed" % (seed - a.seed, a.seed, runner.commands, runner.refused, found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
