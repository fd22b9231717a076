"""What the tests of faults and of crashes share: small inputs, every command, and how to run one."""

import os
import pathlib
import shutil
import subprocess
import sys

SECONDS = 20  # at most, of a command that takes milliseconds


def find_build(folder):
    """The build that has the library of faults: the one given, or the preset "test" in it."""
    for build in (pathlib.Path(folder).resolve(), pathlib.Path(folder).resolve() / "test"):
        if (build / "faults" / "libluthier_faults.so").exists():
            return build
    print("skipped: no libluthier_faults.so, which the preset \"test\" builds")
    sys.exit(0)


# A dictionary of nouns, as WordNet has them.
WORDNET = {
    "index.noun": "entity n 1 1 ~ 1 0 00000100\nlamp n 1 1 @ 1 0 00000200\nradio n 1 1 @ 1 0 00000300\n",
    "data.noun": "00000100 03 n 01 entity 0 002 ~ 00000200 n 0000 ~ 00000300 n 0000 | that is\n"
                 "00000200 06 n 01 lamp 0 001 @ 00000100 n 0000 | shines\n"
                 "00000300 06 n 01 radio 0 001 @ 00000100 n 0000 | speaks\n",
    "noun.exc": "", "verb.exc": "", "index.verb": "", "data.verb": "",
}


class Command:
    """A call of luthier. `writes` are the files and folders that it changes in the folder where it runs, `old` of which
    command they are before (None = they are not there); `keeps` may be left too."""

    def __init__(self, name, words, writes=(), old=None, keeps=(), settings=None):
        self.name, self.words, self.writes, self.old, self.keeps = name, words, list(writes), old, list(keeps)
        self.settings = settings or {}


def commands():
    """All that luthier has. `bench` and `demo` are left out: they take seconds, and write as others do."""
    text, letters = "normalize(ssk(text, order=2))", "sites(seq)"
    fit = ["fit", "../in/t.tsv", "--target", "y", "--kernel", text, "--max-iter", "3", "--restarts", "0", "-q"]
    campaign = ["--max-iter", "2"]
    out = ["-o", "out"]
    table = ["../in/t.tsv", "--kernel", text]

    def one(name, *words, writes=("out",), old="other", **more):
        return Command(name, [str(w) for w in words], writes, old, **more)

    def printed(name, *words, **more):
        return one(name, *words, writes=(), old=None, **more)

    return [
        one("fit", *fit, *out),
        one("fit-threads", *fit, "--threads", 3, "--restarts", 2, *out),
        one("fit-journal", *fit, *out, "--journal", "j", keeps=["j"]),
        one("fit-labels", "fit", "../in/t.tsv", "--target", "kind", "--kernel", text, "--max-iter", 2, "-q", *out),
        one("fit-svm", "fit", "../in/t.tsv", "--target", "kind", "--model", "svm", "--C", "1,2", "--inner-folds", 2,
            "--probability", "--kernel", text, "-q", *out),
        one("fit-store", *fit[:4], "--kernel", "ssk(text, order=2)", "--no-learn", "-q", "--gram", "../in/K.zarr", *out),
        one("fit-inducing", *fit, "--inducing", 4, *out),
        one("fit-cg", *fit, "--posterior", "cg", "--learn-rows", 8, *out),
        one("fit-vectors", "fit", "../in/t.tsv", "--target", "y", "--kernel", "ssk(text, order=2, sim=cosine)", "--vectors",
            "../in/v.txt", "--max-iter", 1, "-q", *out),
        one("fit-wordnet", "fit", "../in/t.tsv", "--target", "y", "--kernel", "semantic(text)", "--max-iter", 1,
            "-q", *out, keeps=[".cache"], settings={"HOME": ".", "XDG_CACHE_HOME": "", "WNSEARCHDIR": "../in/dict"}),
        one("predict", "predict", "../in/m", "../in/t.tsv", "-q", *out),
        printed("predict-json", "predict", "../in/m", "../in/t.csv.gz", "--json", "--threads", 2, "-q"),
        printed("predict-score", "predict", "../in/m", "../in/t.tsv", "--score", "-q"),
        one("explain", "explain", "../in/m", "../in/t.tsv", "--as", "html", "-q", *out),
        printed("explain-text", "explain", "../in/m", "../in/t.tsv", "--row", 2, "-q"),
        one("report", "report", "../in/m", "--data", "../in/t.tsv", "-q", *out),
        printed("show", "show", "../in/m"),
        printed("show-json", "show", "../in/svm", "--json"),
        one("cv", "cv", *table, "--target", "y", "--folds", 3, "--max-iter", 1, "--threads", 2, "-q",
            "--predictions", "out"),
        one("sample", "sample", *table, "--noise", 0.1, "-q", *out),
        one("gram", "gram", *table, "-q", "-o", "out.npy", writes=["out.npy"]),
        one("gram-tsv", "gram", *table, "-q", "-o", "out.tsv", writes=["out.tsv"]),
        one("gram-gradients", "gram", *table, "-q", "-o", "out.npy", "--gradients", "g.npy", writes=["out.npy", "g.npy"]),
        one("gram-store", "gram", "../in/t.tsv", "--kernel", "ssk(text, order=2)", "-q", "-o", "K.zarr", "--tile", 5,
            writes=["K.zarr"], old=None),
        one("gram-resume", "gram", "../in/t.tsv", "--kernel", "ssk(text, order=2)", "-q", "-o", "K.zarr", "--tile", 5,
            "--resume", writes=["K.zarr"], old="part"),
        printed("align", "align", *table, "--with", "bow(text)", "-q"),
        printed("compare", "compare", "../in/m", "../in/bow", "../in/t.tsv", "--resamples", 20, "-q"),
        one("mutate", "mutate", "../in/sites", "--wild-type", "../in/wt.fa", "-q", *out),
        one("scan", "scan", "../in/sites", "../in/long.fa", "--bedgraph", "-q", *out),
        one("propose", "propose", "../in/sites", "--from", "../in/seqs.tsv", "-k", 2, "-q", *out),
        one("propose-space", "propose", "../in/sites", "--space", "from=../in/wt.fa, max-mutations=2", "-k", 2,
            "--evaluations", 60, "--valid", "sed s/.*/1/", "-q", *out),
        one("design-new", "design", "new", "lab", "--from", "../in/seqs.tsv", "--target", "y", "--kernel", letters, *campaign,
            writes=["lab"], old=None),
        one("design-ask", "design", "ask", "lab", "-k", 2, *out, writes=["lab", "out"], old="told"),
        one("design-tell", "design", "tell", "lab", "../in/told.tsv", writes=["lab"], old="asked"),
        one("design-forget", "design", "forget", "lab", "../in/told.tsv", writes=["lab"], old="asked"),
        one("design-status", "design", "status", "lab", "-o", "out.html", writes=["lab", "out.html"], old="told"),
        one("design-simulate", "design", "simulate", "../in/seqs.tsv", "--target", "y", "--kernel", letters, "-k", 2,
            "--rounds", 1, "--start", 3, "--seeds", 1, *campaign, *out),
        printed("serve", "serve", "../in/m", "--port", 0),
        printed("kernels", "kernels"),
        printed("help", "_help", "fit"),
        printed("man", "_man"),
        printed("completion", "_completion"),
    ]


class Workshop:
    """A folder with `in` (inputs), `old` (what files and folders are before a command), and one for each run."""

    def __init__(self, build, folder):
        self.build, self.folder = build, pathlib.Path(folder)
        self.luthier = str(build / "luthier")
        self.library = str(build / "faults" / "libluthier_faults.so")
        self.under, self.seconds = [], SECONDS
        self.count = 0
        self.make_inputs()

    # ---- Inputs ----

    def make_inputs(self):
        inputs = self.folder / "in"
        (self.folder / "old").mkdir()
        inputs.mkdir()
        words = "good bad not very lamp radio".split()
        rows, seqs = ["id\ttext\ty\tkind"], ["id\tseq\ty"]
        for i in range(12):
            text = " ".join(words[(i * k + i // 3) % 6] for k in range(1, 4 + i % 3))
            rows.append(f"{i}\t{text}\t{i % 5 + text.count('good') * 0.5}\t{'AB'[i % 2]}")
        for i in range(16):
            seqs.append(f"s{i}\t{'ACGT'[i % 4]}{'ACGT'[i // 4]}{'ACGT'[(i * 7) % 4]}\t{i % 4 + 2 * (i // 4)}")
        (inputs / "t.tsv").write_text("\n".join(rows) + "\n")
        (inputs / "t.csv").write_text("\n".join(rows).replace("\t", ",") + "\n")
        (inputs / "seqs.tsv").write_text("\n".join(seqs) + "\n")
        (inputs / "wt.fa").write_text(">wt\nACG\n")
        (inputs / "long.fa").write_text(">one\nACGTACGGTCA\n>two\nGGCATTA\n")
        (inputs / "v.txt").write_text("".join(f"{w} {i} {i * i % 3} 1\n" for i, w in enumerate(words)))
        (inputs / "dict").mkdir()
        for name, lines in WORDNET.items():
            (inputs / "dict" / name).write_text(lines)
        subprocess.run(["gzip", "-k", str(inputs / "t.csv")], check=True)
        fit = ["-q", "--max-iter", "3", "--restarts", "0", "--target"]
        text = ["fit", "t.tsv", "--kernel"]
        self.need(*text, "normalize(ssk(text, order=2))", *fit, "y", "-o", "m")
        self.need(*text, "bow(text)", *fit, "y", "-o", "bow")
        self.need(*text, "bow(text)", "-q", "--target", "kind", "--model", "svm", "-o", "svm")
        self.need("fit", "seqs.tsv", "--kernel", "sites(seq)", *fit, "y", "-o", "sites")
        self.need("gram", "t.tsv", "--kernel", "ssk(text, order=2)", "-q", "-o", "K.zarr", "--tile", "5")
        self.make_campaigns(inputs)
        part = self.folder / "old" / "part"
        part.mkdir()
        shutil.copytree(inputs / "K.zarr", part / "K.zarr")
        for name in ("0.1", "1.0", "2.2"):
            (part / "K.zarr" / name).unlink()

    def make_campaigns(self, inputs):
        asked, told = self.folder / "old" / "asked", self.folder / "old" / "told"
        asked.mkdir()
        told.mkdir()
        campaign = ["--from", str(inputs / "seqs.tsv"), "--target", "y", "--kernel", "sites(seq)", "--max-iter", "2", "-q"]
        self.need("design", "new", str(asked / "lab"), *campaign)
        self.need("design", "ask", str(asked / "lab"), "-k", "5", "-q", "-o", str(inputs / "told.tsv"))
        answers = dict(line.split("\t")[1:] for line in (inputs / "seqs.tsv").read_text().splitlines()[1:])
        head, *rows = (line.split("\t") for line in (inputs / "told.tsv").read_text().splitlines())
        seq, y = head.index("seq"), head.index("y")
        for row in rows:
            row[y] = answers[row[seq]]
        (inputs / "told.tsv").write_text("\n".join("\t".join(row) for row in [head, *rows]) + "\n")
        shutil.copytree(asked / "lab", told / "lab")
        self.need("design", "tell", str(told / "lab"), str(inputs / "told.tsv"), "-q")
        self.need("design", "ask", str(told / "lab"), "-k", "2", "-q")

    def need(self, *words):
        subprocess.run([self.luthier, *words], cwd=self.folder / "in", check=True, stdout=subprocess.DEVNULL)

    # ---- Runs ----

    def use_valgrind(self):
        """What it finds, a leak too, ends in exit code 99."""
        self.under = ["valgrind", "-q", "--error-exitcode=99", "--leak-check=full",
                      "--show-leak-kinds=definite", "--errors-for-leak-kinds=definite"]
        self.seconds = 20 * SECONDS
        os.environ["LTH_ISA"] = "avx2"  # it does not know AVX-512

    def make_folder(self, command):
        """What is there before the command: files of another content, or a folder that an earlier command left."""
        self.count += 1
        folder = self.folder / f"run-{self.count}"
        folder.mkdir()
        for name in command.writes if command.old else ():
            if (self.folder / "old" / command.old / name).is_dir():
                shutil.copytree(self.folder / "old" / command.old / name, folder / name)
            else:
                (folder / name).write_text("old\n")
        return folder

    def environment(self, command, **variables):
        e = dict(os.environ, LD_PRELOAD=self.library, LTH_FAULTS_CLOCK="1", LC_ALL="C", HOME=str(self.folder))
        if "asan" in self.build.name:
            e["ASAN_OPTIONS"] = "verify_asan_link_order=0:exitcode=99:detect_leaks=1:allocator_may_return_null=1"
        e.update(command.settings, **variables)
        return e

    def run(self, command, folder, **variables):
        """Exit code (negative = a signal, None = it hangs), what was printed, and the messages."""
        try:
            done = subprocess.run([*self.under, self.luthier, *command.words], cwd=folder, stdin=subprocess.DEVNULL,
                                  capture_output=True, env=self.environment(command, **variables),
                                  timeout=self.seconds, check=False)
        except subprocess.TimeoutExpired:
            return None, b"", ""
        return done.returncode, done.stdout, done.stderr.decode(errors="replace")

    # ---- What a run has left ----

    @staticmethod
    def contents(folder):
        """All files by their path."""
        return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
