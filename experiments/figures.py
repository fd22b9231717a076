"""Numbers from what luthier prints and writes."""

import array, ast, math, struct


def moments(pairs):
    """n and the sums of y, m, y^2, m^2, y m: enough for a correlation, also of several parts together."""
    return [
        len(pairs),
        *map(
            math.fsum,
            (
                [y for y, _ in pairs],
                [m for _, m in pairs],
                [y * y for y, _ in pairs],
                [m * m for _, m in pairs],
                [y * m for y, m in pairs],
            ),
        ),
    ]


def correlation(sums):
    n, y, m, yy, mm, ym = sums
    spread = (yy - y * y / n) * (mm - m * m / n)
    return (ym - y * m / n) / math.sqrt(spread) if spread > 0 else 0.0


def correlated(y, m):
    return correlation(moments(list(zip(y, m))))


def rmse(y, m):
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(y, m)) / len(y))


def quantile(values, q):
    values = sorted(values)
    at = q * (len(values) - 1)
    low = int(at)
    return values[low] + (at - low) * (values[min(low + 1, len(values) - 1)] - values[low])


def median(values):
    return quantile(values, 0.5)


def cross_validation(answer, predictions):
    """Means over targets and folds; each fold's figures; r of all predictions together. predictions is a file's path."""
    result = answer.json()
    with open(predictions) as file:
        lines = [line.rstrip("\n").split("\t") for line in file][1:]
    groups = {}
    for line in lines:
        groups.setdefault((line[1], line[2]), []).append((float(line[3]), float(line[4])))
    folds = []
    for (target, name), pairs in sorted(groups.items()):
        error = sum(abs(y - m) for y, m in pairs) / len(pairs)
        figures = min(result["targets"][target]["folds"], key=lambda f: abs(f["mae"] - error))
        kept = {k: figures[k] for k in ("evidence", "nlpd", "mae", "rmse", "r") if figures.get(k) is not None}
        folds.append({"target": target, "fold": name, "sums": moments(pairs), **kept})
    names = ("nlpd", "mae", "rmse", "r", "coverage", "evidence")
    values = {k: result["mean"][k] for k in names if result["mean"].get(k) is not None}
    return {**values, "r_all": correlation([sum(column) for column in zip(*[f["sums"] for f in folds])]), "folds": folds}


def learned(answer):
    """Hyperparameters by path, from `luthier show --json`."""
    return {p["path"]: p["value"] for p in answer.json()["parameters"]}


def read_npy(path):
    """Shape and entries of a float64 array."""
    with open(path, "rb") as file:
        content = file.read()
    start = 10 + struct.unpack("<H", content[8:10])[0]
    entries = array.array("d")
    entries.frombytes(content[start:])
    return ast.literal_eval(content[10:start].decode())["shape"], entries
