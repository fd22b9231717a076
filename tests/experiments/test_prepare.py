"""experiments/prepare: each set's tables from small made-up raw files, and what is said of raw files that are wrong."""

import gzip, os, subprocess, sys, tempfile, unittest, zipfile

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
sys.path.insert(0, os.path.join(ROOT, "experiments"))

import recipes  # noqa: E402
import sets  # noqa: E402


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as out:
            out.write(text if isinstance(text, bytes) else text.encode())
        return path

    def make(self, name, *raw):
        return sets.set_of(name).make(list(raw), self.folder)

    def rows(self, name, file, *raw):
        return [line.split("\t") for line in self.make(name, *raw)[file].splitlines()]


class Tables(Folder):
    def test_splice(self):
        raw = self.write("splice.data", "EI,   X-DONOR-1,     %s\nN,Y-NEG-2, %s\n" % ("A" * 60, "C" * 60))
        self.assertEqual(self.rows("splice", "dna_splice.tsv", raw), [["text", "label"], ["A" * 60, "EI"], ["C" * 60, "N"]])

    def test_molecules(self):
        raw = [
            self.write("ESOL.csv", 'Compound ID,measured log solubility in mols per litre,smiles\n"a, b",-0.50,CCO \n'),
            self.write("Lipophilicity.csv", "CMPD_CHEMBLID,exp,smiles\nC1,3.5,CC\n"),
            self.write("Photoswitch.csv", ",SMILES,E isomer pi-pi* wavelength in nm\n0,N=N,310.0\n1,CN,\n"),
        ]
        made = self.make("molecules", *reversed(raw))
        self.assertEqual(made["smiles_esol.tsv"], "text\tlabel\nCCO\t-0.50\n")
        self.assertEqual(made["smiles_photoswitch.tsv"], "text\tlabel\nN=N\t310.0\n")  # rows without a number are left out

    def test_tfbind(self):
        raw = self.write("SIX6_REF_R1_8mers.txt", "8-mer\t8-mer\tE-score\tMedian\nAAAAAAAC\tGTTTTTTT\t-0.1\t5\n")
        rows = self.rows("tfbind", "tfbind_SIX6_REF_R1.tsv.gz", raw)
        self.assertEqual(rows, [["kmer", "reverse_complement", "e_score"], ["AAAAAAAC", "GTTTTTTT", "-0.1"]])

    def test_gb1(self):
        all_ = self.write("GB1.csv", "Variants,HD,Fitness\nVDGV,0,1\nADGV,1,0.25\n")
        self.assertEqual(self.rows("gb1_all", "gb1_all.tsv.gz", all_)[2], ["ADGV", "0.25"])
        wild = "M" * 38 + "VDG" + "A" * 12 + "V" + "TE" + "TAIL"
        path = os.path.join(self.folder, "splits.zip")
        with zipfile.ZipFile(path, "w") as archive:
            for i, split in enumerate(recipes.GB1_SPLITS):
                part = ("train,True", "train,", "test,", "test,", "train,False")[i]
                archive.writestr("splits/%s.csv" % split, "sequence,target,set,validation\n%s,1.5,%s\n" % (wild, part))
        row = self.rows("gb1_flip", "gb1_flip.tsv.gz", path)[1]
        self.assertEqual(row, ["VDGV", wild[:56], "1.5", "valid", "train", "test", "test", "train"])

    def test_blat(self):
        lines = ["%s,%d,1,A%dC" % ("S" * 9, i, 29 + i) for i in range(10)]
        rows = self.rows("blat", "blat_ecolx.tsv.gz", self.write("data.csv", "seq,log_fitness,n_mut,mutant\n" + "\n".join(lines)))
        self.assertEqual([r[3] for r in rows[1:]], list("0123401234"))
        self.assertEqual([r[4] for r in rows[1:]], list("0011223344"))

    def test_avgfp(self):
        raw = [
            self.write("avgfp.tsv", "variant\tnum_mutations\tscore\nS0A\t1\t3.5\nK1R,G2D\t2\t1.25\nS0C\t1\t0\n"),
            self.write("wt_aa.txt", "SKGEE\n"),
            self.write("main/train.txt", "1\n"),
            self.write("main/tune.txt", ""),
            self.write("main/test.txt", "0\n"),
        ]
        with self.assertRaisesRegex(recipes.Wrong, "tune.txt: the file is empty"):
            self.make("avgfp", *raw)
        self.write("main/tune.txt", "2\n")
        made = self.make("avgfp", *raw)
        self.assertEqual(made["avgfp.tsv.gz"].splitlines()[1:], ["S1A\t1\t3.5\ttest", "K2R:G3D\t2\t1.25\ttrain", "S1C\t1\t0\ttune"])
        self.assertEqual(made["avgfp_wild_type.fa"], ">avgfp\nSKGEE\n")

    def test_files_as_they_are(self):
        fa = ">1\nACGT\n"
        raw = [
            self.write("nfRep0.tr.fa", fa),
            self.write("nfRep0.neg.tr.fa", ">2\nTT\n"),
            self.write("nfRep0.cvpred.txt", "chr1:1-9\t0.5\t1\t0\nchr2:1-9\t-1\t-1\t4\n"),
        ]
        made = self.make("nfe2", *raw)
        self.assertEqual(made["nfe2_bound.fa.gz"], fa)
        self.assertEqual(made["nfe2_folds.tsv"].splitlines()[2], "chr2:1-9\t-1\t-1\t4")
        self.assertEqual(self.make("fastsk", self.write("1.1.train.fasta", fa)), {"fastsk/1.1.train.fa.gz": fa})
        klp = [self.write(n, gzip.compress(b"DESC |BS:q| why |ES|\n")) for n in ("train_5500.coarse.klp.gz", "TREC_10.coarse.klp.gz")]
        self.assertEqual(self.make("trec", *klp)["trec_test.klp.gz"], "DESC |BS:q| why |ES|\n")
        sst = [self.write("t/" + n, "(3 (2 a) (3 %s))\n" % n) for n in ("train.txt", "dev.txt", "test.txt")]
        self.assertEqual(self.make("sentiment", *sst)["sst_dev.txt.gz"], "(3 (2 a) (3 dev.txt))\n")

    def test_penn(self):
        raw = self.write("wsj_0001.mrg", "( (S (NP-SBJ-1 (DT The)\n  (NN a\\/b))\n (VP (VBZ is) (NP (-NONE- *-1)) (ADVP|PRT (-LRB- -LRB-)))) )\n")
        made = self.make("penn", raw)
        self.assertEqual(made["ptb_sample_trees_clean.txt"], "(S (NP (DT The) (NN a\\/b)) (VP (VBZ is) (ADVP (-LRB- -LRB-))))\n")
        self.assertEqual(made["ptb_sample_sentences.txt"], "The a/b is (\n")
        self.assertTrue(made["ptb_sample_trees.txt"].startswith("(S (NP-SBJ-1 (DT The)"))

    def reuters(self):
        def document(key, topics, body, split="TRAIN", kind="", asked="YES"):
            return (
                '<REUTERS TOPICS="%s" LEWISSPLIT="%s" CGISPLIT="X" OLDID="1" NEWID="%d">\n<TOPICS>%s</TOPICS>\n<TEXT%s>%s</TEXT>\n</REUTERS>\n'
                % (asked, split, key, "".join("<D>%s</D>" % t for t in topics), kind, body)
            )

        return self.write(
            "reut2-000.sgm",
            document(2, ["earn", "earn", "acq"], "<TITLE>A &amp;lt;B> Co</TITLE><DATELINE>x</DATELINE><BODY>Profit\nup.\n Reuter\n&#3;</BODY>")
            + document(1, [], "&#2;\nWHOLE  text", "TEST", ' TYPE="UNPROC"')
            + document(3, ["earn"], "<BODY>not asked</BODY>", asked="NO")
            + document(4, ["earn"], "<BODY>not used</BODY>", "NOT-USED"),
        )

    def test_modapte(self):
        rows = self.rows("modapte", "reuters_modapte.tsv.gz", self.reuters())
        self.assertEqual(rows[1:], [["1", "test", "", "WHOLE text"], ["2", "train", "earn,acq", "A <B> Co Profit up."]])

    def test_lodhi(self):
        self.write("stopwords_en.txt", "the\n")
        rows = ["%d\t%s\t%s\tThe No. %d!" % (i, split, topic, i) for i, (split, topic) in enumerate(
            (s, t) for s in ("train", "test") for t in ("earn", "acq", "crude", "corn") for _ in range(160))]
        rows.append("9999\ttrain\tearn,acq\tboth: never drawn")
        self.write("reuters_modapte.tsv.gz", gzip.compress(("id\tsplit\ttopics\ttext\n" + "\n".join(rows) + "\n").encode()))
        made = self.rows("lodhi", "reuters_lodhi470.tsv")
        self.assertEqual(len(made), 471)
        self.assertEqual(sum(r[1:3] == ["test", "crude"] for r in made), 15)
        self.assertEqual(made[1][3], "no %s" % made[1][0])
        self.assertNotIn("9999", [r[0] for r in made])

    def test_stopwords(self):
        made = self.make("stopwords", self.write("english", "the\nyou're\nyou\n"))
        self.assertEqual(made["stopwords_en.txt"], "re\nthe\nyou\n")

    def test_quality(self):
        raw = [
            self.write("source.trees", "(ROOT (NP (NN le) (NN =LRB=)))\n"),
            self.write("target.trees", "(NP (DT the))\n"),
            self.write("en-es.times", "12.5\n"),
            self.write("en-es.features", " ".join(str(i) for i in range(1, 18)) + "\n"),
        ]
        row = self.rows("quality_en_es", "qe_en_es.tsv", *raw)[1]
        self.assertEqual(row[:7], ["0", "le (", "the", "12.5", "6.250000", "1", "2"])
        self.assertEqual(row[-1], "(NP (DT the))")

    def test_glove(self):
        self.write("semeval2007.tsv", "text\nex-wife Speaks\n")
        raw = self.write("glove.6B.100d.txt", "wife 1 2\nspeaks 3 4\nnobody 5 6\n")
        self.assertEqual(self.make("glove", raw)["glove_subset_100d.txt.gz"], "wife 1 2\nspeaks 3 4\n")

    def test_semeval(self):
        try:
            import nltk  # noqa: F401
        except ImportError:
            self.skipTest("needs nltk")
        raw = [self.write("headlines.trees", "(ROOT (X a))\n(ROOT (X b))\n")]
        for part, key in (("trial", 1), ("test", 500)):
            raw.append(self.write("a_%s.xml" % part, '<corpus>\n<instance id="%d">Don&apos;t  go</instance></corpus>' % key))
            raw.append(self.write("a_%s.emotions.gold" % part, "%d 1 2 3 4 5 6\n" % key))
            raw.append(self.write("a_%s.valence.gold" % part, "%d -7\n" % key))
        rows = self.rows("semeval", "semeval2007.tsv", *raw)
        self.assertEqual(rows[2], ["500", "test", "5", "Don't go", "do n't go", "(ROOT (X b))", "1", "2", "3", "4", "5", "6", "-7"])


class Wrong(Folder):
    def says(self, reason, name, *raw):
        with self.assertRaisesRegex(recipes.Wrong, reason):
            self.make(name, *raw)

    def test_what_is_wrong_has_its_place(self):
        self.says(r"splice.data:2: wants a class", "splice", self.write("splice.data", "EI,X,%s\nEI,X,ACGT\n" % ("A" * 60)))
        self.says(r'data.csv:1: there is no column "mutant"', "blat", self.write("data.csv", "seq,log_fitness\nS,1\n"))
        self.says(r"GB1.csv:3: 1 cells, the header has 2", "gb1_all", self.write("GB1.csv", "Variants,Fitness\nVDGV,1\nADGV\n"))
        self.says(r"wsj.mrg: 1 brackets are not closed", "penn", self.write("wsj.mrg", "(S (NP a)"))
        self.says(r"splice.data:2: not utf-8", "splice", self.write("splice.data", b"EI,X,\n\xff\n"))
        self.says(r"nothing: No such file", "splice", os.path.join(self.folder, "nothing"))
        self.says(r"one raw file whose name ends in ESOL.csv, not 0", "molecules", self.write("x.csv", "a\n"))
        self.says(r"not closed|BadZip|not a zip", "gb1_flip", self.write("splits.zip", "PK"))
        self.says(r"no document of the ModApte split", "modapte", self.write("reut2-000.sgm", "<x>"))

    def prepare(self, *words):
        command = [sys.executable, os.path.join(ROOT, "experiments/prepare"), *words, "--data", os.path.join(self.folder, "made")]
        return subprocess.run(command, text=True, capture_output=True)

    def test_program(self):
        raw = self.write("splice.data", "EI,X,%s\n" % ("A" * 60))
        done = self.prepare("splice", raw)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("differs from the one that was measured (75 bytes, that one 202516)", done.stdout)
        done = self.prepare("check")
        self.assertEqual(done.returncode, 1)
        self.assertIn("missing (experiments/prepare penn)", done.stdout)
        self.write("splice.data", "nonsense\n")
        done = self.prepare("splice", raw)
        self.assertEqual((done.returncode, "splice.data:1: wants" in done.stderr), (3, True))
        self.assertEqual(os.listdir(os.path.join(self.folder, "made")), ["dna_splice.tsv"])  # the table of before
        self.assertEqual(self.prepare("spice").returncode, 2)

    def test_missing_table_says_what_to_do(self):
        command = [sys.executable, os.path.join(ROOT, "experiments/run"), "dna_splice", "--data", self.folder, "--quick"]
        done = subprocess.run([*command, "--results", self.folder], text=True, capture_output=True)
        self.assertIn("experiments/prepare splice RAW... makes it", done.stdout)


class Facts(unittest.TestCase):
    def test_page(self):
        done = subprocess.run([os.path.join(ROOT, "experiments/prepare"), "page", "--check"], text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_every_table_of_an_experiment_has_a_set(self):
        import importlib.machinery, importlib.util

        loader = importlib.machinery.SourceFileLoader("run", os.path.join(ROOT, "experiments/run"))
        run = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", loader))
        loader.exec_module(run)
        for name in run.NAMES:
            for file in run.experiment(name).FILES:
                self.assertTrue(sets.maker_of(file), file)
        self.assertEqual({f for s in sets.SETS for f in s.files}, set(sets.SUMS))


if __name__ == "__main__":
    unittest.main()
