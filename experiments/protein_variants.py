"""Variants of a protein."""

import gzip, random

from text import block, code, show, table, values

PAPER = "FLIP, Dallago et al. (2021); ProteinGym, Notin et al. (2023); Gelman et al. (2021)"
FILES = ["gb1_flip.tsv.gz", "blat_ecolx.tsv.gz", "avgfp.tsv.gz", "avgfp_wild_type.fa"]
SPLITS = ["one_vs_rest", "two_vs_rest", "three_vs_rest", "low_vs_high", "sampled"]
# Spearman of Gaussian processes, by xGPR's authors: one-hot, and on vectors of ESM
PUBLISHED = {"two_vs_rest": (".675", ".705"), "three_vs_rest": (".842", ".832")}
DRAWS = {96: ".67", 384: ".833"}  # rows of `sampled`; best of hand-made kernels per site, one draw
MANY = 20
FOLDS = {"random": ("--folds 5", ".749", ".909"), "modulo": ("--fold-by modulo", "-.041", ".826"),
         "contiguous": ("--fold-by contiguous", "-.016", ".804")}  # one-hot, Kermut (which knows the structure)
LEARN = 2000  # rows of which hyperparameters are learned, at most
CURVE = [1000, 5000, 20000]


def kernels(column, more=""):
    """What is chosen from, by evidence: each letter for itself or by how alike letters are; sites by product, sum or both."""
    def sites(matrix, form):
        return "sites(%s, matrix=%s, form=%s%s)" % (column, matrix, form, more)

    found = [sites(m, form) for m in ("identity", "blosum62") for form in ("product", "both")]
    return found + [
        "1 * %s * %s + 1 * %s" % (sites(m, "product"), sites(m, "sum"), sites(m, "sum")) for m in ("identity", "blosum62")
    ]


# A mutation is a place, what was there and what is there now
PLACES = [
    "1 * bow(place) + 1 * sites(to, matrix=blosum62) + 1 * bow(place) * sites(to, matrix=blosum62)",
    "1 * bow(place) + 1 * sites(to, matrix=blosum62) + 1 * bow(place) * sites(to, matrix=blosum62) + 1 * rbf(position) "
    "+ 1 * sites(from, matrix=blosum62) * sites(to, matrix=blosum62)",
]


def rows_of(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    return rows[0], rows[1:]


def draws(path, many):
    """A column for each draw of training rows from those of `sampled`."""
    header, rows = rows_of(path)
    split = header.index("sampled")
    train = [i for i, r in enumerate(rows) if r[split] != "test"]
    columns = [set(random.Random(s).sample(train, n)) for n in DRAWS for s in range(1, many + 1)]
    names = ["draw%d_%d" % (n, s) for n in DRAWS for s in range(1, many + 1)]
    cells = [[r[0], r[2], r[split], *["train" if i in c else "" for c in columns]] for i, r in enumerate(rows)]
    return ["sites", "fitness", "sampled", *names], cells


def mutations(path, most):
    """Single mutations in parts: V29A is V at 29, now A."""
    header, rows = rows_of(path)
    of = {name: header.index(name) for name in header}
    cells = []
    for r in rows[:: 10 if most else 1]:
        m = r[of["mutant"]]
        cells.append([r[of["sequence"]], "p" + m[1:-1], m[1:-1], m[0], m[-1], r[of["log_fitness"]], r[of["modulo"]], r[of["contiguous"]]])
    return ["sequence", "place", "position", "from", "to", "log_fitness", "modulo", "contiguous"], cells


def some(path, counts):
    """avGFP with a column for each number of training rows, each a part of the next."""
    header, rows = rows_of(path)
    train = [i for i, r in enumerate(rows) if r[3] == "train"]
    random.Random(1).shuffle(train)
    parts = [set(train[:n]) for n in counts]
    return header + ["rows%d" % n for n in counts], [r + ["train" if i in p else "" for p in parts] for i, r in enumerate(rows)]


def fit(lab, table_, where, target, kernel, *more):
    return lab.luthier("fit {} --where {} --target {} --kernel {} --restarts 0 --learn-rows {} {} -o {} --json -q", table_, where, target,
                       kernel, LEARN, list(more), lab.file("model"))


def score(lab, table_, where):
    return lab.luthier("predict {} {} --where {} --score --json -q", lab.file("model"), table_, where)


def judged(fitted, scored, target):
    figures = scored.json()["targets"][target]
    return {"evidence": fitted.json()["log_evidence"], **{k: figures[k] for k in ("spearman", "r", "nlpd", "ndcg")}}


def folded(result):
    evidence = [fold["evidence"] for fold in result["folds"]]
    return {"evidence": sum(evidence) / len(evidence), **{k: result["pooled"][k] for k in ("spearman", "nlpd", "r")}}


def measure(lab):
    flip = lab.data(FILES[0])
    for split in SPLITS[1:2] if lab.quick else SPLITS:
        for kernel in kernels("sites")[:1] if lab.quick else kernels("sites"):
            lab.row("GB1 / %s / %s" % (split, kernel),
                    [fit(lab, flip, split + "=train,valid", "fitness", kernel), score(lab, flip, split + "=test")],
                    lambda a: judged(a[0], a[1], "fitness"), 60)
    measure_draws(lab, flip)
    measure_blat(lab)
    measure_avgfp(lab)


def measure_draws(lab, flip):
    many = 2 if lab.quick else MANY
    table_ = lab.table("draws.tsv", lambda: draws(flip, many))
    for n in DRAWS:
        for kernel in kernels("sites"):
            steps = []
            for s in range(1, many + 1):
                steps += [fit(lab, table_, "draw%d_%d=train" % (n, s), "fitness", kernel), score(lab, table_, "sampled=test")]
            lab.row("draws of %d / %s" % (n, kernel), steps,
                    lambda a: {"draws": [judged(f, p, "fitness") for f, p in zip(a[::2], a[1::2])]}, 40)


def measure_blat(lab):
    source = lab.data(FILES[1])
    table_ = lab.table("blat.tsv", lambda: mutations(source, lab.quick))
    for kernel in PLACES:
        for name, (folds, *_) in FOLDS.items():
            lab.row("BLAT / %s / %s" % (name, kernel),
                    [lab.luthier("cv {} --target log_fitness --kernel {} {} --restarts 0 --learn-rows {} --json -q", table_, kernel,
                                 folds.split(), LEARN)],
                    lambda a: folded(a[0].json()["targets"]["log_fitness"]), 300)


def measure_avgfp(lab):
    counts = [200] if lab.quick else CURVE
    source, wild = lab.data(FILES[2]), lab.data(FILES[3])
    table_ = lab.table("avgfp.tsv", lambda: some(source, counts))
    kernel = kernels("variant", ', wild_type="%s"' % wild)[3]
    for n in counts:
        lab.row("avGFP / %d" % n,
                [fit(lab, table_, "rows%d=train" % n, "score", kernel, *(["--device", lab.device] if lab.device else [])),
                 score(lab, table_, "split=test")],
                lambda a: judged(a[0], a[1], "score"), 300)


# The page


def by_evidence(found):
    """Of (kernel, values) the one with the highest evidence."""
    found = [(k, v) for k, v in found if v]
    return max(found, key=lambda kv: kv[1]["evidence"]) if found else (None, {})


def over_draws(rows, n):
    """Of every draw the kernel with the highest evidence; mean and deviation of Spearman's."""
    lists = [values(rows, "draws of %d / %s" % (n, k)).get("draws", []) for k in kernels("sites")]
    chosen = [max(draw, key=lambda v: v["evidence"])["spearman"] for draw in zip(*lists)]
    if not chosen:
        return ""
    mean = sum(chosen) / len(chosen)
    return "%.3f +- %.3f" % (mean, (sum((x - mean) ** 2 for x in chosen) / len(chosen)) ** 0.5)


def flip_table(rows):
    lines = []
    for split in SPLITS:
        found = [(k, values(rows, "GB1 / %s / %s" % (split, k))) for k in kernels("sites")]
        kernel, best = by_evidence(found)
        cells = [show(v.get("spearman")) for _, v in found]
        lines.append([split, *PUBLISHED.get(split, ("", "")), *cells, "**%s**" % show(best.get("spearman")) if best else ""])
    short = ["%s, %s" % (m, f) for m in ("identity", "blosum62") for f in ("product", "both")]
    short += ["%s, product x sum + sum" % m for m in ("identity", "blosum62")]
    return table(["split", "one-hot", "ESM", *short, "by evidence"], lines)


def blat_table(rows):
    lines = []
    for name, (_, hot, kermut) in FOLDS.items():
        found = [(k, values(rows, "BLAT / %s / %s" % (name, k))) for k in PLACES]
        lines.append([name, hot, kermut, *[show(v.get("spearman")) for _, v in found], "**%s**" % show(by_evidence(found)[1].get("spearman"))])
    return table(["folds", "one-hot", "Kermut", "place and letter", "and position, letters exchanged", "by evidence"], lines)


def curve_table(rows):
    return table(["training rows", "Spearman", "r", "NLPD"], [
        [n, *[show(v.get(k)) for k in ("spearman", "r", "nlpd")]] for n in CURVE for v in [values(rows, "avGFP / %d" % n)] if v])


def page(results):
    rows = results["protein_variants"]
    parts = ["""**GB1**, four sites, FLIP's splits: train on variants with one, two or three mutations, on those of low fitness, or on a random 80%; Spearman's
correlation on the rest. Published: Gaussian processes on one-hot letters and on vectors of a language model (xGPR's authors). Hyperparameters from at
most 2,000 rows, predictions from all.""",
             block("luthier fit gb1_flip.tsv.gz --where two_vs_rest=train,valid --target fitness --restarts 0 --learn-rows 2000 -o model \\",
                   "    --kernel '%s'" % kernels("sites")[3],
                   "luthier predict model gb1_flip.tsv.gz --where two_vs_rest=test --score"),
             flip_table(rows),
             """The evidence is about rows like the training rows: on splits that ask for more mutations than were seen, the kernel that it chooses is
not the one with the best order of the test rows. Few training rows, drawn from those of `sampled`, %d draws, of every draw the kernel with the highest evidence (mean and
standard deviation; published: kernels made by hand, one draw):""" % MANY,
             table(["rows", "published", "by evidence", code(kernels("sites")[3])],
                   [[n, DRAWS[n], over_draws(rows, n), mean_of_draws(rows, n, kernels("sites")[3])] for n in DRAWS]),
             """**BLAT_ECOLX**, 4,807 single mutations of a beta-lactamase, ProteinGym's three ways to make five folds, Spearman's correlation of all folds
together. A mutation is described by its place, the letter that was there and the one that is now; Kermut knows the structure of the protein and two
neural networks. Where whole positions are left out (modulo) or whole stretches (contiguous), letters and neighbours are all that is known here.""",
             block(*["'%s'" % k for k in PLACES]),
             blat_table(rows)]
    curve = curve_table(rows)
    if curve.count("\n") > 1:
        parts += ["""**avGFP**, 54,024 variants of a fluorescent protein with up to 15 mutations, the given split, more and more of its training rows
(`%s`):""" % kernels("variant", ', wild_type="avgfp_wild_type.fa"')[3], curve]
    return "\n\n".join(parts) + "\n"


def mean_of_draws(rows, n, kernel):
    draws_ = values(rows, "draws of %d / %s" % (n, kernel)).get("draws", [])
    return show(sum(d["spearman"] for d in draws_) / len(draws_)) if draws_ else ""
