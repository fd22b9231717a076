"""Time of a Gram matrix against the length of strings."""

import random, re, string

from figures import read_npy
from plot import data, draw
from text import block, picture, show, table, values

PAPER = "Beck and Cohn (2017), Figure 1"
FILES = []
LENGTHS = range(10, 101, 10)
KERNEL = "ssk(text, units=chars, order=5, gap=0.5, match=1, weights=[1,1,1,1,1])"
TITLES = {
    "recursion": "recursion in C, one core",
    "matrix": "matrix form with OpenBLAS, one core",
    "one": "luthier, one core",
    "all": "luthier, all cores",
    "gpu": "luthier, GPU",
}


def random_strings(length, count):
    chance = random.Random(length)
    return ["text"], [["".join(chance.choices(string.ascii_letters, k=length))] for _ in range(count)]


def of_program(answers):
    lines = [line.split("\t") for line in answers[0].out.splitlines()]
    found = {line[0]: line[1:] for line in lines}
    numbers = {"value": float(found["value"][0]), "gradients": float(found["gradients"][0]), "sum": float(found["value"][1])}
    return {**numbers, **({"products": found["products"][0]} if "products" in found else {})}


def of_luthier(answers, path):
    """The times that luthier itself takes, without starting and files: the best of the runs."""
    half = len(answers) // 2
    times = [sum(map(float, re.findall(r" ([0-9.e-]+) s", a.err))) for a in answers]
    return {"value": min(times[:half]), "gradients": min(times[half:]), "sum": sum(read_npy(path)[1])}


def measure(lab):
    count, repeats = (30, 2) if lab.quick else (100, 5)
    K, G = lab.file("K.npy"), lab.file("G.npy")
    for length in (10, 50) if lab.quick else LENGTHS:
        texts = lab.table("random_%d_%d.tsv" % (count, length), lambda n=length: random_strings(n, count))
        for name, source, more in (("recursion", "recursion", []), ("matrix", "matrix_form", ["-ldl"])):
            lab.row("%d / %s" % (length, name), [[lab.program(source, *more), texts]], of_program, 1)
        ways = [("one", ["--threads", "1"]), ("all", [])] + ([("gpu", ["--device", lab.device])] if lab.device else [])
        for name, more in ways:
            value = lab.luthier("gram {} --kernel {} -o {} -v {}", texts, KERNEL, K, more)
            both = value + ["--gradients", G]
            lab.row("%d / %s" % (length, name), [value] * repeats + [both] * repeats, lambda a: of_luthier(a, K), 0.4)


def ways(rows):
    return [w for w in TITLES if any(name.endswith(" / " + w) for name in rows)]


def lengths(rows):
    return sorted({int(name.split(" / ")[0]) for name in rows})


def figures(results, folder, say):
    rows = results["string_time"]
    if not rows:
        return
    panels = ""
    for what, title in (("value", "value"), ("gradients", "value and gradients")):
        for way in ways(rows):
            panels += data(
                "%s_%s" % (what, way), [[n, values(rows, "%d / %s" % (n, way)).get(what, "NaN")] for n in lengths(rows)]
            )
    panels += (
        "set logscale y\nset format y '10^{%T}'\nset xlabel 'length of the strings'\nset yrange [5e-5:*]\nset xrange [5:105]\n"
    )
    panels += "set multiplot layout 1,2 margins 0.09,0.985,0.34,0.90 spacing 0.08\nset ylabel 'seconds for 100 x 100 strings' offset 0.5\n"
    panels += "set key at screen 0.53,0.11 center center maxrows 3 width 1\n"
    for what, title in (("value", "value"), ("gradients", "value and gradients")):
        keyed = what == "value"
        panels += "set title '%s'\n%s" % (title, "" if keyed else "unset ylabel\nunset key\n")
        panels += (
            "plot "
            + ", ".join(
                "$%s_%s with linespoints lt %d title '%s'" % (what, way, i + 1, TITLES[way]) for i, way in enumerate(ways(rows))
            )
            + "\n"
        )
    draw(folder, "string_time", panels + "unset multiplot\n", (860, 440), say)


ON_GPU = """ The GPU is an NVIDIA H200 in another machine; so small a matrix
keeps it busy for a tenth of a millisecond, the rest is its start."""


def faster(rows):
    """How many times the time of the recursion the matrix form takes, at both ends."""
    parts = []
    for length in (lengths(rows)[0], lengths(rows)[-1]):
        both = [values(rows, "%d / %s" % (length, way)) for way in ("matrix", "recursion")]
        if all(both):
            parts.append(
                "at length %d it takes %.1f times as long as the recursion, with gradients %.1f times"
                % (length, *[both[0][w] / both[1][w] for w in ("value", "gradients")])
            )
    return "; ".join(parts)


def page(results):
    rows = results["string_time"]
    found = ways(rows)
    lines = []
    for length in lengths(rows):
        cells = [values(rows, "%d / %s" % (length, way)) for way in found]
        lines.append([length, *["%s / %s" % (show(c.get("value"), "%.2g"), show(c.get("gradients"), "%.2g")) for c in cells]])
    products = {v["values"]["products"] for v in rows.values() if "products" in v["values"]}
    text = """100 random strings of 52 letters, order 5: the seconds for their Gram matrix (half of it, since it is symmetric), value / value
and the gradients by gap, match and five weights. The recursion and the matrix form are
[C programs of a page each](../experiments/programs), compiled by `cc -O3 -march=native`; the matrix form's products are by %s. luthier's
time is what `luthier gram -v` prints. All of them agree in the sum of the matrix's entries.

""" % (
        " and ".join(sorted(products)) or "OpenBLAS"
    )
    text += block("luthier gram random_100_100.tsv --kernel '%s' -o K.npy --gradients G.npy -v" % KERNEL) + "\n\n"
    if not rows:
        return text + "Not measured yet.\n"
    text += picture("string_time", "seconds against length, on a logarithmic scale") + "\n\n"
    text += table(["length", *[TITLES[w] for w in found]], lines)
    return text + """

The paper found its matrix form up to a hundred times faster than the recursion, and wondered how a cubic algorithm could
beat a quadratic one. When both are compiled, it does not: %s. (The paper has a plot and no table.) Random letters match rarely, so
luthier may leave out positions that cannot match (`--dropping auto`); [performance.md](performance.md) has its rates without that.%s
""" % (faster(rows), ON_GPU if "gpu" in found else "")
