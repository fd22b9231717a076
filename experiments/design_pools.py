"""Which rows to measure next."""

import gzip

from lab import read_table
from text import block, code, show, table, values

PAPER = "ALDE, Yang et al. (2025), on GB1 of Wu et al. (2016); TFBind8 of Barrera et al. (2016); MoleculeNet, Wu et al. (2018)"
FILES = ["gb1_all.tsv.gz", "tfbind_SIX6_REF_R1.tsv.gz", "tfbind_ARX_L343Q_R1.tsv.gz", "smiles_esol.tsv", "smiles_lipophilicity.tsv"]
SEEDS = 20
# Best fitness over the maximum, with the same number of rows
PUBLISHED = [("GP, one-hot letters, greedy", ".819"), ("GP, AAindex, Thompson", ".927"), ("best of all models", ".930"), ("random", ".471")]
STRANDS = "1 * normalize(gkm(kmer, l=5, k=[2,5], strand=both))"
SMILES = "1 * tanimoto(ngrams(text, units=chars, n=[1,5]))"
PLATES = {"start": 96, "count": 96, "rounds": 4}
TENS = {"start": 10, "count": 10, "rounds": 40}
# Name: file, target, kernel, sizes of the rounds, seconds that all campaigns take
POOLS = {
    "GB1": (FILES[0], "fitness", "sites(sites, matrix=blosum62, form=both)", PLATES, 130),
    "SIX6": (FILES[1], "e_score", STRANDS, PLATES, 200),
    "ARX": (FILES[2], "e_score", STRANDS, PLATES, 200),
    "ESOL": (FILES[3], "label", SMILES, TENS, 100),
    "lipophilicity": (FILES[4], "label", SMILES, TENS, 520),
}
# Ways to choose that are not the default, on GB1
WAYS = ["--batch joint", "--acquisition ts", "--acquisition ucb", "--acquisition greedy"]


def cells_of(path):
    """Header and rows of a table, packed or not."""
    if not path.endswith(".gz"):
        return read_table(path)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    return rows[0], rows[1:]


def some(path, most):
    header, rows = cells_of(path)
    return header, rows[:: -(-len(rows) // most)]


def best_at_random(path, target):
    """Rows that random choice is expected to need until the best one, or one as good, is measured."""
    header, rows = cells_of(path)
    y = [float(r[header.index(target)]) for r in rows]
    return (len(y) + 1) / (y.count(max(y)) + 1)


def simulate(lab, pool, target, kernel, sizes, way):
    sizes = {"start": 20, "count": 10, "rounds": 2} if lab.quick else sizes
    return lab.luthier("design simulate {} --target {} --kernel {} --start {} -k {} --rounds {} --seeds {} --restarts 0 {} --json -q",
                       pool, target, kernel, sizes["start"], sizes["count"], sizes["rounds"], 2 if lab.quick else SEEDS, way.split())


def judged(answer, path, target):
    result = answer.json()
    campaigns, random = result["seeds"], result["random"]
    last = campaigns[0]["rows"][-1]
    return {
        "best": result["mean"],
        "each": [c["best"][-1] for c in campaigns],
        "found": sum(c["found"] for c in campaigns),
        "until_top": [c["until_top"] or last for c in campaigns],
        "until_best": [until_best(c) for c in campaigns],
        "seconds": sum(c["seconds"] for c in campaigns) / len(campaigns),
        "how": "%s, %s" % (result["acquisition"], result["batch"]),
        "random": {"best": random["mean"], "until_top": random["until_top"], "until_best": best_at_random(path, target)},
    }


def until_best(campaign):
    """Rows at the end of the round in which the best row was measured, or all."""
    return next((n for n, best in zip(campaign["rows"], campaign["best"]) if campaign["found"] and best == campaign["best"][-1]),
                campaign["rows"][-1])


def measure(lab):
    for name, (file, target, kernel, sizes, seconds) in POOLS.items():
        source = lab.data(file)
        pool = lab.table(name + ".tsv", lambda: some(source, 200)) if lab.quick else source
        for way in ["", *WAYS] if name == "GB1" else [""]:
            lab.row(row_name(name, way), [simulate(lab, pool, target, kernel, sizes, way)], lambda a: judged(a[0], pool, target), seconds)


def row_name(pool, way):
    return "%s / %s" % (pool, way) if way else pool


# The page


def mean(numbers):
    return sum(numbers) / len(numbers)


def plate_line(name, v, what):
    if not v:
        return [name, what, *[""] * 7]
    error = (sum((x - mean(v["each"])) ** 2 for x in v["each"]) / len(v["each"]) / max(len(v["each"]) - 1, 1)) ** 0.5
    return [name, what, *[show(b) for b in v["best"][:-1]], "**%s** +- %.3f" % (show(v["best"][-1]), error),
            "%d of %d" % (v["found"], len(v["each"])), "%.1f" % v["seconds"]]


def plate_table(rows):
    lines = [["GB1", "*%s*" % what, "", "", "", "", figure, "", ""] for what, figure in PUBLISHED]
    for name in ("GB1", "SIX6", "ARX"):
        for way in ["", *WAYS] if name == "GB1" else [""]:
            v = values(rows, row_name(name, way))
            if v or not way:
                lines.append(plate_line(name, v, code(way) if way else "by default"))
        v = values(rows, name)
        lines.append([name, "at random, expected", *[show(b) for b in v["random"]["best"]], "", ""] if v else [name, "at random", *[""] * 7])
    ends = ["%d" % (PLATES["start"] + r * PLATES["count"]) for r in range(PLATES["rounds"] + 1)]
    return table(["table", "how", *ends, "maximum found", "s each"], lines)


def against(v, what):
    """Mean over campaigns, what is expected of random choice, and the share of it."""
    if not v:
        return ["", "", ""]
    found, expected = mean(v[what]), v["random"][what]
    return ["%.0f" % found, "%.0f" % expected, "**%.2f**" % (found / expected)]


def molecule_table(rows):
    lines = [[name, *against(values(rows, name), "until_top"), *against(values(rows, name), "until_best")] for name in ("ESOL", "lipophilicity")]
    return table(["table", "one of the best 1%", "at random", "share", "the best row", "at random", "share"], lines)


def page(results):
    rows = results["design_pools"]
    file, target, kernel, sizes, _ = POOLS["GB1"]
    return "\n\n".join([
        """Campaigns on tables whose answers are known: some rows at random, then rounds in which a Gaussian process, learned anew from all rows so far,
proposes which to measure. %d campaigns each, by seeds 1 to %d; kernels and ways to choose were decided on by other seeds (101 and up, see below).""" % (SEEDS, SEEDS),
        block("luthier design simulate %s --target %s --kernel '%s' \\" % (file, target, kernel),
              "    --start %(start)d -k %(count)d --rounds %(rounds)d" % sizes + " --seeds %d --restarts 0" % SEEDS),
        """**GB1**, all 149,361 variants of four sites, and **TFBind8**, how strongly two transcription factors (SIX6, ARX with a mutation) bind each of
32,896 pairs of complementary DNA strings of length eight (`%s`). 96 rows at random, then four rounds of 96, as on plates. The best value among the rows measured so far, over
the maximum of the table; mean over campaigns, at the end with its standard error.""" % STRANDS,
        plate_table(rows),
        """**Molecules** by their SMILES (`%s`): ESOL (1,128 rows, log solubility) and lipophilicity (4,200 rows), from 10 rows at random in rounds of
10, up to 410. Rows measured until one of the best 1%% of the table is among them, and until the best row is (to the end of its round); campaigns that did not get
there count as 410.""" % SMILES,
        molecule_table(rows),
        """How the way to choose was decided on: a trial of the same campaigns outside of this program, seeds 101 to 116 and fewer (lipophilicity: to 120). Each row after the model believes its
own mean of those before it, by expected improvement on the best measured, found 0.958 of GB1's maximum with fitness as it is and 0.981 with log(fitness + .01) (16 seeds);
by improvement on the best that is expected of a measured row, as the program has it, 0.974 with fitness as it is. Mean + 2 sd with such belief found more with fitness as it is, 0.993, and less of its logarithm, 0.911 (12 seeds;
expected improvement 0.968 and 0.975 of the same): expected improvement was taken because it depends least on the units. By ranks it found 0.974 (12 seeds), and with
`form=product` 0.969 and 0.989 (16 and 12 seeds). Draws from the joint posterior found 0.851 and
0.918, joint expected improvement 0.899 and 0.905, mean + sd without belief 0.916 and 0.790, the highest means 0.879 and 0.771 (6 seeds each). Letters by `matrix=identity`
instead of `blosum62`: 0.935 and 0.952 (12 seeds). On SIX6 `sites` of both strands found the maximum in 2 of 4 campaigns, this `gkm` in 6 of 6. Of lipophilicity 50
rows tell little: 15 kernels learned from 50 random rows had correlations of 0.26 to 0.35 with other rows (ESOL: 0.58 to 0.83), so that the first rounds are close to
random choice.""",
    ]) + "\n"
