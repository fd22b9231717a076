"""Ugly tables for random commands: a column for every kind of thing that kernels read and models learn, and what
goes wrong with tables of people. Cells are bytes, so that a table may hold what is no text at all."""
import csv
import io
import json
import struct

WORDS = ("a the dog cat runs saw not good ex-wife DOG it's \u00e9 e\u0301 \u0301 \u00df \U0001f600 \u200b 1e5 \"q\" , (x) "
         "\u0130I x").split(" ")
AMINO = "ACDEFGHIKLMNPQRSTVWY"
LABELS = ["S", "NP", "VP", "NP-SBJ-1", "-NONE-"]
NUMBERS = ["x1", "x2", "x3", "x4"]
TEXTS = ["text", "my chars", "aligned", "protein", "dna", "mutant", "tree", "task"]
TARGETS = ["y", "z", "count", "share", "grade", "two", "three", "several"]
COLUMNS = TEXTS + NUMBERS + TARGETS + ["w"]
UGLY = ["0", "-0", "1", "-1", "1e139", "-1e139", "1e100", "1e-139", "1e-150", "5e-324", "-2e-308", "1e-300", "3", "1e15", "1e-9", "1e155"]


class Grid:
    """Names of columns, and rows of cells."""

    def __init__(self, names, rows):
        self.names, self.rows = names, rows

    def copy(self):
        return Grid(list(self.names), [list(row) for row in self.rows])

    def column(self, name):
        return [row[self.names.index(name)] for row in self.rows] if name in self.names else []

    def bytes(self, form):
        if form == "tsv":
            flat = [b" ".join(cell.replace(b"\t", b" ").splitlines()) for row in self.rows for cell in row]
            width = len(self.names)
            lines = [[name.encode() for name in self.names]] + [flat[i:i + width] for i in range(0, len(flat), width)]
            return b"".join(b"\t".join(line) + b"\n" for line in lines)
        text = io.StringIO(newline="")
        if form == "csv":
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(self.names)
            for row in self.rows:
                writer.writerow([cell.decode("latin-1") for cell in row])
            return text.getvalue().encode("latin-1")
        for row in self.rows:
            cells = {name: cell.decode("utf-8", "replace") for name, cell in zip(self.names, row)}
            text.write(json.dumps(cells, ensure_ascii=False) + "\n")
        return text.getvalue().encode()


def letters(r, alphabet, n):
    return "".join(r.choice(alphabet) for _ in range(n))


def length(r, usual, most):
    """Mostly short; empty, or long."""
    if r.random() < .06:
        return r.randrange(2)
    return 1 + r.randrange(most if r.random() < .04 else usual)


def tree(r, depth):
    label = r.choice(LABELS)
    if depth == 0 or r.random() < .3:
        return "(%s %s)" % (label, r.choice(WORDS[:12]))
    return "(%s %s)" % (label, " ".join(tree(r, depth - 1) for _ in range(1 + r.randrange(3))))


def mutations(r, wild):
    at = sorted(r.sample(range(len(wild)), min(len(wild), r.randrange(3))))
    return ":".join("%s%d%s" % (wild[i], i + 1, r.choice(AMINO)) for i in at) or "WT"


def number(r, tame):
    if not tame and r.random() < .5:
        return r.choice(UGLY)
    return str(r.randrange(3)) if r.random() < .2 else repr(r.uniform(-2, 2))


def cell(r, name, row, wild, tame):
    """What a sane table has in that column."""
    if name == "text":
        return " ".join(r.choice(WORDS) for _ in range(length(r, 8, 80)))
    if name == "my chars":
        return letters(r, r.choice(["ab", "a", "abcdefghij", "xyzXYZ 0"]), length(r, 12, 200))
    if name == "aligned":
        return letters(r, AMINO, len(wild))
    if name == "protein":
        return letters(r, AMINO, 1 + length(r, 15, 80))
    if name == "dna":
        return letters(r, "ACGT" if row % 2 else "ACGTN", 2 + length(r, 25, 120))
    if name == "mutant":
        return mutations(r, wild)
    if name == "tree":
        return tree(r, r.randrange(4))
    return {
        "task": lambda: r.choice(["joy", "fear", "great anger"]),
        "count": lambda: str(r.randrange(6 if tame else 2000000)),
        "share": lambda: repr(r.uniform(.001, .999)),
        "grade": lambda: str(1 + (row + r.randrange(2)) % 4),
        "two": lambda: "yes" if row % 2 else "no",
        "three": lambda: "abc"[row % 3],
        "several": lambda: ["a", "a,b", "", "b", "c,a"][row % 5],
        "w": lambda: repr(r.uniform(.1, 3)),
    }.get(name, lambda: number(r, tame))()


def damage(r, grid):
    """What goes wrong with one table in so many: one thing, or a few."""
    rows, names = grid.rows, grid.names

    def at(which=None):
        return (r.randrange(len(rows)), names.index(which or r.choice(names)))

    def put(value, which=None):
        i, j = at(which)
        rows[i][j] = value

    def constant(names_of):
        j = names.index(r.choice(names_of))
        for row in rows:
            row[j] = rows[0][j]

    def everywhere(which, value):
        for row in rows:
            row[names.index(which)] = value

    def scaled(which):
        factor = r.choice([1e139, 1e100, 1e-100, 1e-139, 1e150, 1e-300, 1e-160])
        for row in rows:
            row[names.index(which)] = repr((r.random() - .5) * factor).encode()

    def equal_rows():
        first = len(names) - len(TARGETS) - 1 # with other targets
        for row in rows:
            row[:first] = rows[0][:first]

    ugly = [
        lambda: put(b""), lambda: put(r.choice([b"nan", b"NaN", b"inf", b"-inf", b"1e999", b"7,5", b"0x1p3", b" 1 "])),
        lambda: put(b"\xff\xfe broken"), lambda: put(b"a\0b"), lambda: put(b"\x1b[31mred"), lambda: put(b"((S (NP", "tree"),
        lambda: put(b"word " * r.choice([500, 3000]), "text"), lambda: put(b"(S " * 400 + b"(N x)" + b")" * 400, "tree"),
        lambda: constant(TARGETS), lambda: constant(TEXTS + NUMBERS), equal_rows, lambda: everywhere("text", b""),
        lambda: scaled("y"), lambda: scaled(r.choice(NUMBERS)), lambda: scaled("z"), lambda: everywhere("x1", b"0"),
        lambda: put(r.choice(UGLY).encode(), r.choice(NUMBERS)), lambda: put(r.choice(UGLY).encode(), r.choice(["y", "z", "w", "count"])),
        lambda: rows.__delitem__(slice(1, None)), lambda: rows.__delitem__(slice(2, None)), rows.clear,
        lambda: rows[r.randrange(len(rows))].pop(), lambda: put(b"only one", r.choice(["two", "three", "task"])),
        lambda: names.__setitem__(r.randrange(len(names)), r.choice(["", "y", "text", "x1"])),
    ]
    for _ in range(1 + (r.random() < .2)):
        if rows and names == COLUMNS and min(map(len, rows)) == len(names):
            r.choice(ugly)()


def make(r, rows=None, wild=None, ugly=.5):
    """A table, damaged in that share of cases."""
    tame = r.random() < .7
    count = rows or r.choice([2, 4, 6, 8, 12, 12, 20, 30])
    grid = Grid(list(COLUMNS), [[cell(r, name, i, wild, tame).encode() for name in COLUMNS] for i in range(count)])
    if r.random() < ugly:
        damage(r, grid)
    return grid


def others(r, wild):
    """Files that options name: word vectors, a wild type, sequences, and numbers for each of twelve rows."""
    vectors = "".join("%s %.3f %.3f %.3f\n" % (word, *(r.uniform(-1, 1) for _ in range(3))) for word in WORDS if word)
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (12, 2), }"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    array = b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + struct.pack("<24d", *(r.uniform(-1, 1) for _ in range(24)))
    sequences = "".join(">s%d\n%s\n" % (i, letters(r, r.choice([AMINO, "ACGT", "acgtN"]), 5 + r.randrange(60))) for i in range(3))
    return {"vectors.txt": vectors.encode(), "wild.fa": (">wild\n%s\n" % wild).encode(), "s.fa": sequences.encode(), "e.npy": array}
