"""How each table of the experiments is made of public raw files.

A recipe takes the paths of its raw files and the folder of the tables that are there already, and gives the text of each
table that it makes. Tables have a header line, tabs, and no quotes. What is wrong with a raw file is said with file and line.
"""

import csv, gzip, html, io, os, random, re, zipfile


class Wrong(Exception):
    """A raw file is not what it should be."""


# ---- Raw files ----


def wrong(path, line, reason):
    place = "%s:%d" % (path, line) if line else path
    return Wrong("%s: %s" % (place, reason))


def read_text(path, encoding="utf-8"):
    try:
        with open(path, "rb") as file:
            content = file.read()
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
        return content.decode(encoding)
    except OSError as failure:
        raise wrong(path, 0, failure.strerror or str(failure)) from None
    except UnicodeDecodeError as failure:
        line = content[: failure.start].count(b"\n") + 1
        raise wrong(path, line, "not %s: byte %d" % (encoding, failure.start)) from None


def read_rows(path, encoding="utf-8"):
    """(number, line) of a text file, without empty lines."""
    lines = read_text(path, encoding).splitlines()
    if not lines:
        raise wrong(path, 0, "the file is empty")
    return [(i, line) for i, line in enumerate(lines, 1) if line.strip()]


def read_columns(path, *wanted, delimiter=",", text=None):
    """The named columns of a CSV file, a list for each row."""
    reader = csv.reader(io.StringIO(read_text(path) if text is None else text), delimiter=delimiter)
    header = next(reader, None)
    if header is None:
        raise wrong(path, 0, "the file is empty")
    for name in wanted:
        if name not in header:
            raise wrong(path, 1, 'there is no column "%s"; there are: %s' % (name, ", ".join(header)))
    at, rows = [header.index(name) for name in wanted], []
    for cells in reader:
        if cells and len(cells) != len(header):
            raise wrong(path, reader.line_num, "%d cells, the header has %d" % (len(cells), len(header)))
        if cells:
            rows.append([cells[i] for i in at])
    return rows


def count_of(raw, count, what):
    if len(raw) != count:
        raise Wrong("wants %d raw files (%s), not %d" % (count, what, len(raw)))
    return raw


def by_name(raw, *endings):
    """The raw files whose names end like this, whatever the order in which they were given."""
    found = []
    for ending in endings:
        paths = [path for path in raw if os.path.basename(path).lower().endswith(ending.lower())]
        if len(paths) != 1:
            raise Wrong("wants one raw file whose name ends in %s, not %d" % (ending, len(paths)))
        found += paths
    return found


def table(header, rows):
    lines = ["\t".join(header), *["\t".join(row) for row in rows]]
    for number, line in enumerate(lines, 1):
        if line.count("\t") != len(header) - 1 or "\n" in line or "\r" in line:
            raise Wrong("row %d would have a tab or a line end in a cell: %r" % (number - 1, line[:80]))
    return "\n".join(lines) + "\n"


def one_space(text):
    return " ".join(text.split())


# ---- Sequences ----


def splice(raw, data):
    rows = []
    for number, line in read_rows(*count_of(raw, 1, "splice.data")):
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != 3 or len(cells[2]) != 60:
            raise wrong(raw[0], number, "wants a class, a name and 60 bases, with commas between them")
        rows.append([cells[2], cells[0]])
    return {"dna_splice.tsv": table(["text", "label"], rows)}


def molecules(raw, data):
    sources = [
        ("ESOL.csv", "smiles", "measured log solubility in mols per litre", "smiles_esol.tsv"),
        ("Lipophilicity.csv", "smiles", "exp", "smiles_lipophilicity.tsv"),
        ("Photoswitch.csv", "SMILES", "E isomer pi-pi* wavelength in nm", "smiles_photoswitch.tsv"),
    ]
    out = {}
    for path, (_, text, label, name) in zip(by_name(raw, *[s[0] for s in sources]), sources):
        out[name] = table(["text", "label"], [[s.strip(), y] for s, y in read_columns(path, text, label) if y])
    return out


def tfbind(raw, data):
    out = {}
    for path in raw:
        name = os.path.basename(path).replace("_8mers.txt", "")
        rows = [(number, line.split("\t")) for number, line in read_rows(path)[1:]]
        short = [number for number, cells in rows if len(cells) < 3]
        if short:
            raise wrong(path, short[0], "wants an 8-mer, its reverse complement and a score")
        out["tfbind_%s.tsv.gz" % name] = table(["kmer", "reverse_complement", "e_score"], [cells[:3] for _, cells in rows])
    return out


GB1_SITES = (38, 39, 40, 53)
GB1_LENGTH = 56
GB1_SPLITS = ("one_vs_rest", "two_vs_rest", "three_vs_rest", "low_vs_high", "sampled")


def gb1_all(raw, data):
    rows = read_columns(*count_of(raw, 1, "the supplement of Wu et al. as CSV"), "Variants", "Fitness")
    return {"gb1_all.tsv.gz": table(["sites", "fitness"], rows)}


def gb1_flip(raw, data):
    """splits.zip of FLIP: a CSV for each split, over the same sequences."""
    path = count_of(raw, 1, "splits.zip")[0]
    try:
        archive = zipfile.ZipFile(path)
        members = {os.path.basename(m)[:-4]: m for m in archive.namelist() if m.endswith(".csv") and "MACOSX" not in m}
    except (OSError, zipfile.BadZipFile) as failure:
        raise wrong(path, 0, str(failure)) from None
    places, order, fitness = {}, [], {}
    for split in GB1_SPLITS:
        if split not in members:
            raise wrong(path, 0, "there is no %s.csv in it" % split)
        text = archive.read(members[split]).decode()
        for sequence, target, part, held in read_columns(
            "%s, %s.csv" % (path, split), "sequence", "target", "set", "validation", text=text
        ):
            if sequence not in fitness:
                order.append(sequence)
                fitness[sequence] = target
            places[sequence, split] = "valid" if part == "train" and held.lower() in ("true", "1", "1.0") else part
    return {
        "gb1_flip.tsv.gz": table(
            ["sites", "sequence", "fitness", *GB1_SPLITS],
            [
                ["".join(s[i] for i in GB1_SITES), s[:GB1_LENGTH], fitness[s], *[places.get((s, x), "") for x in GB1_SPLITS]]
                for s in order
            ],
        )
    }


def blat(raw, data):
    """Folds as ProteinGym defines them: by position modulo 5, and five stretches of positions."""
    rows = read_columns(*count_of(raw, 1, "data.csv"), "mutant", "seq", "log_fitness")
    at = [int(mutant[1:-1]) for mutant, _, _ in rows]
    first, count = min(at), max(at) - min(at) + 1
    out = [[*row, str((p - first) % 5), str((p - first) * 5 // count)] for row, p in zip(rows, at)]
    return {"blat_ecolx.tsv.gz": table(["mutant", "sequence", "log_fitness", "modulo", "contiguous"], out)}


def avgfp(raw, data):
    """Mutations are counted from 0 in the raw table, from 1 here; rows of a split are given by their numbers."""
    scores, wild, *parts = by_name(raw, "avgfp.tsv", "wt_aa.txt", "train.txt", "tune.txt", "test.txt")
    rows = read_columns(scores, "variant", "num_mutations", "score", delimiter="\t")
    split = {}
    for name, path in zip(("train", "tune", "test"), parts):
        for number, line in read_rows(path):
            if not line.strip().isdigit() or int(line) >= len(rows):
                raise wrong(path, number, "wants a row of %s, from 0" % scores)
            split[int(line)] = name
    return {
        "avgfp.tsv.gz": table(
            ["variant", "mutations", "score", "split"],
            [
                [":".join(m[0] + str(int(m[1:-1]) + 1) + m[-1] for m in v.split(",")), n, s, split.get(i, "")]
                for i, (v, n, s) in enumerate(rows)
                if i in split
            ],
        ),
        "avgfp_wild_type.fa": ">avgfp\n%s\n" % read_text(wild).strip().rstrip("*"),
    }


def nfe2(raw, data):
    bound, unbound, folds = by_name(raw, "Rep0.tr.fa", ".neg.tr.fa", ".cvpred.txt")
    rows = [line.split() for _, line in read_rows(folds)]
    return {
        "nfe2_bound.fa.gz": read_text(bound),
        "nfe2_unbound.fa.gz": read_text(unbound),
        "nfe2_folds.tsv": table(["id", "lsgkm_score", "label", "fold"], rows),
    }


def fastsk(raw, data):
    return {"fastsk/%s.fa.gz" % os.path.basename(path).removesuffix(".fasta"): read_text(path) for path in raw}


# ---- Trees ----


def trec(raw, data):
    train, test = by_name(raw, "train_5500.coarse.klp.gz", "TREC_10.coarse.klp.gz")
    return {"trec_train.klp.gz": read_text(train), "trec_test.klp.gz": read_text(test)}


def sentiment(raw, data):
    names = ("train.txt", "dev.txt", "test.txt")
    return {"sst_%s.gz" % name: read_text(path) for name, path in zip(names, by_name(raw, *names))}


TOKEN = re.compile(r"[()]|[^\s()]+")


def parse(text, path="", line=0):
    """Nested lists [label, child...] of the bracketed trees in a text; a leaf is a string."""
    trees, stack = [], []
    for token in TOKEN.findall(text):
        if token == "(":
            stack.append([])
        elif token == ")":
            if not stack:
                raise wrong(path, line, "a bracket closes that was not opened")
            done = stack.pop()
            (stack[-1] if stack else trees).append(done)
        elif not stack:
            raise wrong(path, line, "%r stands outside of a tree" % token)
        else:
            stack[-1].append(token)
    if stack:
        raise wrong(path, line, "%d brackets are not closed" % len(stack))
    return trees


def printed(tree):
    return tree if isinstance(tree, str) else "(%s)" % " ".join(printed(part) for part in tree)


def cleaned(tree):
    """Without traces, what they leave empty, function tags and indices; None where nothing is left."""
    label, *children = tree
    if label == "-NONE-":
        return None
    if all(isinstance(child, str) for child in children):
        return tree
    left = [c for c in map(cleaned, children) if c is not None]
    return [re.split(r"[-=|]", label)[0] or label, *left] if left else None


BRACKETS = {"-LRB-": "(", "-RRB-": ")", "=LRB=": "(", "=RRB=": ")", "-LCB-": "{", "-RCB-": "}", "-LSB-": "[", "-RSB-": "]"}


def leaves(tree):
    if isinstance(tree, str):
        return [BRACKETS.get(tree, tree.replace("\\/", "/"))]
    return [leaf for child in tree[1:] for leaf in leaves(child)]


def penn(raw, data):
    trees = []
    for path in sorted(raw):
        for tree in parse(read_text(path), path):
            trees.append(tree[0] if len(tree) == 1 and isinstance(tree[0], list) else tree)
    clean = [cleaned(tree) for tree in trees]
    return {
        "ptb_sample_trees.txt": "".join(printed(tree) + "\n" for tree in trees),
        "ptb_sample_trees_clean.txt": "".join(printed(tree) + "\n" for tree in clean),
        "ptb_sample_sentences.txt": "".join(" ".join(leaves(tree)) + "\n" for tree in clean),
    }


# ---- Texts ----

EMOTIONS = ["anger", "disgust", "fear", "joy", "sadness", "surprise"]


def semeval(raw, data):
    """Headlines, by part: XML, emotions and valence; then parse trees, one a line, trial before test."""
    from nltk.tokenize import TreebankWordTokenizer

    tokens = TreebankWordTokenizer().tokenize
    folds = read_text(os.path.join(os.path.dirname(os.path.abspath(__file__)), "data/semeval_folds.txt")).split()
    trees = [line for _, line in read_rows(*by_name(raw, ".trees"))]
    rows = []
    for part in ("trial", "test"):
        xml, emotions, valence = by_name(raw, part + ".xml", part + ".emotions.gold", part + ".valence.gold")
        scores = {line.split()[0]: line.split()[1:] for _, line in read_rows(emotions)}
        pleasant = dict(line.split() for _, line in read_rows(valence))
        for key, text in re.findall(r'<instance id="(\d+)">(.*?)</instance>', read_text(xml), re.S):
            if key not in scores or key not in pleasant:
                raise wrong(emotions, 0, "there are no scores for headline %s" % key)
            text = one_space(html.unescape(text))
            rows.append([key, part, None, text, " ".join(tokens(text.lower())), None, *scores[key], pleasant[key]])
    if len(trees) != len(rows):
        raise Wrong("there are %d headlines and %d trees" % (len(rows), len(trees)))
    for i, row in enumerate(rows):
        row[2], row[5] = folds[i] if i < len(folds) else "", one_space(trees[i])
    return {"semeval2007.tsv": table(["id", "split", "fold", "text", "tokens", "tree", *EMOTIONS, "valence"], rows)}


REUTER = re.compile(
    r'<REUTERS TOPICS="(\w+)" LEWISSPLIT="([\w-]+)"[^>]*NEWID="(\d+)"[^>]*>(.*?)</REUTERS>', re.S
)


def part_of(body, tag):
    found = re.search("<%s[^>]*>(.*?)</%s>" % (tag, tag), body, re.S)
    return found[1] if found else ""


def plain(text):
    """Entities decoded (some are there twice), control characters dropped, the closing mark removed."""
    text = "".join(c if c.isprintable() or c.isspace() else "" for c in html.unescape(html.unescape(text)))
    return re.sub(r"\s+reuter$", "", one_space(text), flags=re.I)


def modapte(raw, data):
    rows = []
    for path in sorted(raw):
        for topics, split, key, body in REUTER.findall(read_text(path, "latin-1")):
            if topics != "YES" or split not in ("TRAIN", "TEST"):
                continue
            found = re.search(r"<TEXT([^>]*)>(.*?)</TEXT>", body, re.S)
            kind, text = found[1], found[2]
            whole = text if "UNPROC" in kind else part_of(text, "TITLE") + " " + part_of(text, "BODY")
            names = list(dict.fromkeys(re.findall("<D>(.*?)</D>", part_of(body, "TOPICS"))))
            rows.append([key, split.lower(), ",".join(names), plain(whole)])
    if not rows:
        raise wrong(raw[0] if raw else "", 0, "there is no document of the ModApte split in these files")
    return {"reuters_modapte.tsv.gz": table(["id", "split", "topics", "text"], sorted(rows, key=lambda r: int(r[0])))}


def stopwords(raw, data):
    words = [part for _, line in read_rows(*count_of(raw, 1, "NLTK's english")) for part in line.strip().split("'") if part]
    return {"stopwords_en.txt": "".join(word + "\n" for word in sorted(set(words)))}


LODHI = {"train": {"earn": 152, "acq": 114, "crude": 76, "corn": 38}, "test": {"earn": 40, "acq": 25, "crude": 15, "corn": 10}}


def lodhi(raw, data):
    """Drawn from the ModApte table that was made before: the documents of the paper are not known."""
    count_of(raw, 0, "it is made of reuters_modapte.tsv.gz and stopwords_en.txt")
    stops = set(read_text(os.path.join(data, "stopwords_en.txt")).split())
    documents = [line.split("\t") for _, line in read_rows(os.path.join(data, "reuters_modapte.tsv.gz"))[1:]]
    draw, rows = random.Random(0), []
    for split, counts in LODHI.items():
        for label, count in counts.items():
            ours = {int(d[0]): d for d in documents if d[1] == split and counts.keys() & set(d[2].split(",")) == {label}}
            if len(ours) < count:
                raise Wrong("reuters_modapte.tsv.gz has %d documents of %s, %s; %d are wanted" % (len(ours), split, label, count))
            for key in sorted(draw.sample(sorted(ours), count)):
                words = re.sub(r"[^a-z0-9]", " ", ours[key][3].lower()).split()
                rows.append([str(key), split, label, " ".join(w for w in words if w not in stops)])
    return {"reuters_lodhi470.tsv": table(["id", "split", "label", "text"], rows)}


# ---- Translations ----

FEATURES = ["f%d" % i for i in range(1, 18)]


def quality(name):
    """Segments: trees of both sides, seconds and 17 features, a line for each."""

    def make(raw, data):
        source, target, times, features = by_name(raw, "source.trees", "target.trees", "times", "features")
        columns = [read_rows(path) for path in (source, target, times, features)]
        for path, rows in zip((target, times, features), columns[1:]):
            if len(rows) != len(columns[0]):
                raise wrong(path, 0, "%d lines, %s has %d" % (len(rows), source, len(columns[0])))
        out = []
        for (line, s), (_, t), (_, seconds), (at, f) in zip(*columns):
            numbers = f.split()
            if len(numbers) != 17:
                raise wrong(features, at, "wants 17 features, not %d" % len(numbers))
            trees = [parse(text, path, line)[0] for text, path in ((s, source), (t, target))]
            seconds = seconds.strip()
            rate = "%.6f" % (float(seconds) / float(numbers[1]))
            out.append([str(len(out)), *(" ".join(leaves(tree)) for tree in trees), seconds, rate, *numbers, *map(printed, trees)])
        header = ["id", "source", "translation", "pe_time", "pe_per_word", *FEATURES, "source_tree", "translation_tree"]
        return {"qe_%s.tsv" % name: table(header, out)}

    return make


# ---- Word vectors ----


def vocabulary(data):
    """Lower-cased words of the tables that are there, and the letters and digits they are made of."""
    words = set()
    for name in ("semeval2007.tsv", "reuters_modapte.tsv.gz", "ptb_sample_sentences.txt", "qe_en_es.tsv", "qe_fr_en.tsv"):
        path = os.path.join(data, name)
        if os.path.exists(path):
            for token in read_text(path).lower().split():
                words.update([token, *re.findall(r"[a-z0-9]+", token)])
    if not words:
        raise Wrong("word vectors are cut down to the words of the other tables: make these first")
    return words


def glove(raw, data):
    path, words = count_of(raw, 1, "glove.6B.100d.txt")[0], vocabulary(data)
    return {"glove_subset_100d.txt.gz": "".join(line + "\n" for _, line in read_rows(path) if line.split(" ", 1)[0] in words)}
