"""What the experiments share: the command line, the data, tables of results."""
import argparse, json, math, os, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def options(doc, *more):
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.path.join(HERE, "../../shared/data"), help="folder of the data sets")
    parser.add_argument("--luthier", default=os.path.join(HERE, "../build/luthier"), help="the command line")
    for name, default, text in more:
        parser.add_argument(name, default=default, type=type(default), help=text)
    return parser.parse_args()


def data_file(o, name):
    """The path of a data set; without it there is nothing to do, which is no failure."""
    path = os.path.join(o.data, name)
    if not os.path.exists(path):
        print("skipped: there is no %s in %s" % (name, o.data))
        sys.exit(0)
    return path


def run(o, *arguments):
    return subprocess.run([o.luthier, *arguments], check=True, text=True, stdout=subprocess.PIPE).stdout


def cross_validate(o, table, targets, kernel, *more):
    """Means over folds and targets, r over all predictions together, seconds."""
    with tempfile.TemporaryDirectory() as folder:
        predictions = os.path.join(folder, "p.tsv")
        result = json.loads(run(o, "cv", table, "--target", ",".join(targets), "--kernel", kernel, "--json", "-q",
                                "--predictions", predictions, *more))
        rows = [line.rstrip("\n").split("\t") for line in open(predictions)][1:]
    mean = result["mean"]
    mean["r_all"] = correlation([float(r[3]) for r in rows], [float(r[4]) for r in rows])
    mean["seconds"] *= sum(len(t["folds"]) for t in result["targets"].values())
    return mean


def correlation(x, y):
    n, mx, my = len(x), sum(x) / len(x), sum(y) / len(y)
    xy = sum((a - mx) * (b - my) for a, b in zip(x, y))
    return xy / math.sqrt(sum((a - mx) ** 2 for a in x) * sum((b - my) ** 2 for b in y))


def learned(o, model):
    """The learned values of a model by path, the noise among them."""
    shown = json.loads(run(o, "show", model, "--json"))
    return {p["path"]: p["value"] for p in shown["parameters"]}


def write_table(path, header, rows):
    with open(path, "w", encoding="utf-8") as out:
        for row in [header, *rows]:
            out.write("\t".join(row) + "\n")


def row(*cells):
    print("| " + " | ".join(cells) + " |", flush=True)
