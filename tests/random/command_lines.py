"""Random command lines: kernels by the manuals of their families (`luthier kernels --json`), options by the help of
each command. A new family, argument or choice is written without a change here; an option with a value of a new kind
must be told how, in `values`."""
import json
import re
import subprocess

import command_tables as tables

# Not written: what does not end, is of other machines, or is for people who watch.
LEFT_OUT = {"help", "version", "cluster", "device", "progress", "verbose", "valid", "threads", "color"}


class Manual:
    """What a program says of itself."""

    def __init__(self, program):
        def ask(*words):
            return subprocess.run([program, *words], stdout=subprocess.PIPE, check=True).stdout.decode()
        self.families = json.loads(ask("kernels", "--json"))["kernels"]
        names = re.findall(r"^  ([a-z]+) ", ask("help").split("Common options")[0], re.M)
        self.of = {} # which kind of model alone takes an option
        self.options = {c: dict(self.read(ask(c, "--help"))) for c in names}

    def read(self, text):
        """Each option, and what its value is: "" of a flag."""
        text = re.sub(r"\|\n +", "|", text) # many choices
        for line, more in re.findall(r"^  (?:-\w, )?--(\S.*)\n((?: {10}.*\n)*)", text, re.M):
            first, *rest = re.split(r"  +", line, maxsplit=1)
            name, _, value = first.partition(" ")
            help_ = " ".join(rest + [more]).strip()
            self.of[name] = "gp" if help_.startswith("gp:") else "svm" if help_.startswith("svm:") else ""
            yield name, value


# ---- Kernels ----

class Call:
    """A family over a column or other kernels, a sum or product ("+", "*") of kernels, or a text as it is."""

    def __init__(self, name, inputs=(), arguments=()):
        self.name, self.inputs, self.arguments = name, list(inputs), list(arguments)

    def __str__(self):
        inputs = [str(i) for i in self.inputs]
        if self.name in "+*":
            return (" %s " % self.name).join("(%s)" % i if self.name == "*" and " + " in i else i for i in inputs)
        return "%s(%s)" % (self.name, ", ".join(inputs + self.arguments)) if inputs else self.name

    def nodes(self):
        yield self
        for i in self.inputs:
            yield from i.nodes()

    def copy(self):
        return Call(self.name, [i.copy() for i in self.inputs], self.arguments)

    def smaller(self):
        """All that are simpler by one step."""
        yield from (i.copy() for i in self.inputs if self.name in "+*" or i.inputs)
        for k in range(len(self.arguments)):
            yield Call(self.name, self.inputs, self.arguments[:k] + self.arguments[k + 1:])
        for k, inner in enumerate(self.inputs):
            if self.name in "+*" and len(self.inputs) > 2:
                yield Call(self.name, self.inputs[:k] + self.inputs[k + 1:], self.arguments)
            for less in inner.smaller():
                yield Call(self.name, self.inputs[:k] + [less] + self.inputs[k + 1:], self.arguments)

    def paths(self):
        """Hyperparameters, as --fix and --prior name them."""
        return ["%s.%s" % (n.name, a.split("=")[0]) for n in self.nodes() for a in n.arguments]


class Writer:
    """Draws kernels and options."""

    def __init__(self, r, manual, wild):
        self.r, self.manual, self.wild = r, manual, wild

    def chance(self, p):
        return self.r.random() < p

    def learned(self, a):
        usual = float(re.sub(r"[^-+.\de].*", "", a["default"].strip("[")) or 1)
        if self.chance(.6):
            x = min(max((usual or 1) * self.r.uniform(.4, 2.5), a["lo"]), a["hi"])
        else:
            x = self.r.choice([a["lo"], a["hi"], min(max(0, a["lo"]), a["hi"]), min(max(1, a["lo"]), a["hi"])])
        return "%.6g%s" % (x, "!" if self.chance(.1) else "")

    def choice(self, choices):
        one = self.r.choice(choices.split("|"))
        if ".." in one and one[0] != "[":
            least, most = re.match(r"(-?[\d.]+?)\.\.(.*)", one).groups()
            if "." in least or (most == "1" and least == "0"):
                return "%.3g" % self.r.uniform(float(least), float(most))
            most = int(most) if most.isdigit() else int(least) + 6
            return str(self.r.choice([int(least), min(int(least) + self.r.randrange(6), most)] + [most] * self.chance(.02)))
        return {"FILE": None, "SEQUENCE": self.wild, "LETTERS": "abcdefghij", "[LEAST,MOST]": "[2,3]", "[...]": "[joy,fear]",
                "": "%.3g" % self.r.uniform(.1, 10), "above 0": "%.3g" % self.r.uniform(.1, 10)}.get(one, one)

    def arguments(self, family, share):
        for a in family["arguments"]:
            value = None
            if self.chance(share):
                value = self.learned(a) if a["kind"] == "learned" else self.choice(a["choices"])
            if value is not None:
                yield "%s=%s" % (a["name"], value)

    def column(self, family):
        if self.chance(.04):
            return self.r.choice(["y", "nothing", "\"\"", "x1", "text"])
        fit = {"sites": ["aligned"], "wd": ["aligned", "dna"], "la": ["protein"], "sstk": ["tree"], "stk": ["tree"], "ptk": ["tree"],
               "coregion": ["task"], "mismatch": ["dna"], "gkm": ["dna"]}
        name = self.r.choice(fit.get(family, ["text", "\"my chars\"", "dna", "protein"]))
        return name

    def leaf(self, maps=False):
        while True:
            f = self.r.choice(self.manual.families)
            takes = f["usage"].split("(", 1)[1].split(",")[0].split(")")[0]
            if not re.search(r"COLUMN|FIRST", takes) or (maps and f["name"] not in ("bow", "tfidf", "ngrams", "gappy", "semantic", "scale")):
                continue
            if "FIRST" in takes and not self.chance(.1):
                continue
            first = self.r.randrange(1, 5)
            range_ = "x%d..x%d" % (first, self.r.randrange(first, 5)) if self.chance(.5) else "x%d" % first
            column = range_ if "FIRST" in takes or "COLUMNS" in takes else self.column(f["name"])
            return Call(f["name"], [Call(column)], self.arguments(f, self.r.choice([0, .1, .25])))

    def kernel(self, depth=None):
        depth = self.r.randrange(3) if depth is None else depth
        if depth == 0 or self.chance(.3):
            return self.leaf()
        if self.chance(.5):
            f = self.r.choice([f for f in self.manual.families if re.search(r"\((?:COLUMNS \| )?(?:MAP|KERNEL)", f["usage"])])
            only_maps = "KERNEL" not in f["usage"]
            inner = self.leaf(True) if only_maps else self.kernel(depth - 1)
            return Call(f["name"], [inner], self.arguments(f, .2))
        parts = [self.kernel(depth - 1) for _ in range(2)]
        if self.chance(.3):
            parts[0] = Call(self.r.choice(["2", "0.5!", "0", "1e8", "1e-8"]))
        return Call(self.r.choice("+*"), parts)

    # ---- Options ----

    def number(self):
        return self.r.choice(["0", "1", "2", ".5", "1e-3", "10", "1e-300", "1e155", "1e300", "-1"])

    def count(self):
        return self.r.choice(["0", "1", "2", "3", "5", "7", "1000"] if self.chance(.9) else ["100000", "-1", "x", "18446744073709551615"])

    def any_column(self):
        return self.r.choice(tables.COLUMNS + ["nothing"] if self.chance(.3) else ["y", "w", "count", "x1", "two"])

    def path(self, kernel):
        return self.r.choice((kernel.paths() if kernel else []) + ["noise", "scale", "ssk.gap", "nothing.at"])

    def value(self, name, kind, kernel):
        """A value for an option, or None where none is to be had."""
        own = {"inducing": ["1", "2", "5", "30"], "max-iter": ["0", "1", "4"], "restarts": ["0", "1"], "evaluations": ["1", "60"],
               "population": ["1", "8"], "features": ["1", "3", "50"], "folds": ["2", "3", "20"], "resamples": ["1", "50"],
               "seeds": ["1", "2"], "rounds": ["0", "1", "2"], "average": ["1", "3"], "probes": ["1", "16"], "shortlist": ["1", "5"],
               "isa": ["portable", "avx2", "avx512"], "space": ["alphabet=ACGT, length=3..6", "from=wild.fa, max-mutations=2"],
               "letters": ["ACGT", "AC", "a"], "class": ["yes", "no", "a"], "feasible-class": ["yes", "a"], "value": ["mean", "sd", "score"],
               "window": ["1", "5", "50"], "step": ["1", "3"], "inner-folds": ["2", "3"], "draws": ["1", "3"], "tile": ["0", "4"],
               "max-row": ["1000000"]}
        if name in own and self.chance(.95):
            return self.r.choice(own[name])
        values = {
            "": lambda: "", "V": self.number, "V[!]": lambda: self.number() + "!" * self.chance(.3), "N": self.count, "K": self.count,
            "M": self.count, "BYTES": lambda: "2000000", "S": self.count, "ROWS": self.count, "COL": self.any_column, "COL[,COL...]": self.any_column,
            "COL|1/COL": lambda: "1/" * self.chance(.3) + self.any_column(), "V[,V...]": lambda: ",".join(self.number() for _ in range(1 + self.r.randrange(2))),
            "N[,N...]": lambda: ",".join(self.count() for _ in range(1 + self.r.randrange(2))), "W[,W...]": self.number,
            "R": lambda: self.r.choice("0123"), "N|all": lambda: self.r.choice(["all", "2", "5", self.count()]), "PATH[,PATH...]": lambda: self.path(kernel),
            "PATH=V[,V...]": lambda: self.path(kernel) + "=" + self.number(),
            "PATH=MEDIAN,SD": lambda: "%s=%s,%s" % (self.path(kernel), self.number(), self.number()),
            "COL=VALUE[,VALUE...]": lambda: self.r.choice(["two=yes", "three=a,b", "task=joy", "two=neither"]),
            "balanced|NAME=W[,NAME=W...]": lambda: self.r.choice(["balanced", "yes=" + self.number(), "a=2"]),
            "zero|constant|COL[+COL...]": lambda: self.r.choice(["zero", "constant", "x1", "x1+x2", "x3"]), "NAME": lambda: "some name",
            "TEXT": lambda: "<b>title & all", "EXPR": lambda: self.kernel(1), "NAME=FILE": lambda: "e=e.npy", "CMD": lambda: None,
            "NAME[=max|min][,...]": lambda: self.r.choice(["y", "y=min", "yes", "y,z"]), "RULES": lambda: "alphabet=AC, length=2",
            "LETTERS": lambda: "ACGT", "TABLE": lambda: self.r.choice(["train", "others"]), "TABLE2": lambda: "others", "M2": lambda: "M2",
            "I/N": lambda: self.r.choice(["1/1", "1/2", "3/2"]), "K.zarr": lambda: "K.zarr",
            "FILE": lambda: {"output": None, "vectors": "vectors.txt", "wild-type": "wild.fa"}.get(name, "out-" + name),
        }
        if kind in values:
            return values[kind]()
        words = kind.split("|")
        if all(re.fullmatch(r"[a-z0-9]+", word) for word in words):
            return self.r.choice(words)
        raise SystemExit("--%s %s is new: say in command_lines.py what to write there" % (name, kind))

    def some(self, command, kernel=None, most=3, never=(), model=""):
        """Options that a command takes, in a list of [name, value]; mostly those of that kind of model."""
        other = {"gp": "svm", "svm": "gp"}.get(model) if self.chance(.95) else None
        takes = [o for o in self.manual.options[command]
                 if o not in LEFT_OUT and o not in never and o != "output" and not (other and self.manual.of[o] == other)]
        out = []
        for name in self.r.sample(takes, min(len(takes), self.r.choice([0, 0, 1, 1, 2, most]))):
            value = self.value(name, self.manual.options[command][name], kernel)
            if value is not None:
                out.append([name, value if isinstance(value, Call) else str(value)])
        return out

    # ---- What is learned ----

    def task(self):
        """A target and options that go with it."""
        r = self.r
        if self.chance(.3):
            numbers = self.chance(.4)
            how = [["model", "svm"], ["target", r.choice(["y", "count"] if numbers else ["two", "three", "several"])]]
            if self.chance(.5):
                how.append(["svm", "nu"])
            if self.chance(.4):
                how.append(r.choice([["nu", r.choice(["1", ".5", ".01", "1e-300"])], ["C", r.choice(["1e-300", "1e9", ".1,10"])],
                                     ["solver", r.choice(["linear", "origin", "kernel"])], ["features", "3"], ["multi", r.choice(["ovo", "ovr"])],
                                     ["class-weights", "balanced"]]))
            return how
        target, likelihoods = r.choice([
            ("y", ["gaussian", "student", "censored"]), ("y", ["gaussian"]), ("y", ["warped"]), ("count", ["poisson", "negbinomial", "gaussian"]),
            ("share", ["beta", "warped"]), ("grade", ["ordinal"]), ("two", ["logit", "probit"]), ("three", ["softmax", "logit"]),
            ("several", ["logit"]), ("y,z", ["gaussian"])])
        how = [["target", target], ["likelihood", r.choice(likelihoods)]]
        if target == "y,z" and self.chance(.5):
            how = [["target", target], ["coregion", r.choice("12")]]
        if how[1][1] == "warped":
            how.append(["warp", r.choice(["log", "boxcox", "sinh", "tanh"])])
        if how[1][1] == "gaussian" and self.chance(.3):
            how = how[:1] + [["posterior", r.choice(["exact", "cg", "inducing"])]]
        if self.chance(.15):
            how.append(["inducing", r.choice("235")])
        return how + [["max-iter", r.choice("0123")], ["restarts", r.choice("001")]]
