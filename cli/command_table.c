/* The table of commands. */
#include "options.h"

const command commands[] = {
    {"fit", "TABLE... --target COL[,COL...] --kernel EXPR -o M [options]",
     "learn a model from a table, and write it to a file",
     "Learns the hyperparameters of the kernel EXPR, and the noise, by the evidence of the number "
     "column COL; several columns share them. A column of labels makes a classifier. The model M "
     "holds all that predict needs. Ctrl-C "
     "ends the learning early and still writes the best model so far; a second one stops at once "
     "and writes nothing. With --model svm, a support vector machine for one column of labels or "
     "numbers: lists of --C, --epsilon, --nu and --set are a grid, of which the best point by "
     "inner folds is trained on all rows; Ctrl-C stops and writes nothing.",
     "luthier fit reviews.tsv --target score --kernel 'ssk(text)' -o score\n"
     "luthier fit t.tsv --target joy,fear --kernel 'ssk(text, order=3)' -o m\n"
     "luthier fit t.tsv --target y --kernel 'ssk(text)' --noise 0.1! -o m\n"
     "luthier fit t.tsv --model svm --target kind --kernel 'ssk(text)' -o m\n"
     "luthier fit yes.fa no.fa --label-by file --kernel 'gkm(sequence)' -o m",
     1, MANY, run_fit},
    {"predict", "M TABLE... [options]", "mean, standard deviation and 95% interval for each row",
     "Prints for each row of TABLE what the model M expects: mean and standard deviation, and the "
     "interval from lo to hi that holds 95% of the values. With several targets the columns are "
     "TARGET.mean and so on. Where the distribution is not normal there is the median too, and of "
     "grades their probabilities, p[GRADE]. For labels: label and, if the model has them, the "
     "probabilities "
     "p[CLASS], of a support vector machine also its decision value: score, above 0 for the last "
     "of two classes, or score[CLASS]; one for numbers prints the mean alone. Rows count from 1 in "
     "the file. The model "
     "holds the vectors of the words it was trained on; --vectors finds those of others.",
     "luthier predict score new.tsv\n"
     "luthier predict score new.csv --json -o predictions.jsonl\n"
     "luthier predict score test.tsv --score",
     2, MANY, run_predict},
    {"explain", "M [TABLE...] [options]",
     "what a prediction comes from: words, patterns, training rows",
     "Prints for each row of TABLE, or those of --row, what the model M expects and why: how much "
     "each word, node of a tree or number adds to it, which patterns of words (with gaps) or "
     "fragments of trees do, and which training rows; for a Gaussian process also how much of the "
     "doubt is noise and how much is distance from the training rows. baseline is what the model "
     "expects of a row that has nothing in common with them; baseline and the weights add up to "
     "the prediction. Of labels it explains the most probable one. Without TABLE, the patterns "
     "that weigh most in the model.",
     "luthier explain score new.tsv --row 3\n"
     "luthier explain score new.tsv --as html -o reasons.html\n"
     "luthier explain score --patterns 20",
     1, MANY, run_explain},
    {"cv", "TABLE... --target COL[,COL...] --kernel EXPR [options]",
     "how well a kernel predicts, by cross-validation",
     "Fits a model to all folds but one and judges it on that one, for each fold and each target. "
     "Prints the negative log predictive density (nlpd), the mean absolute and the root mean "
     "square error (mae, rmse), Pearson's r, the explained variance (r2) and the share of values "
     "inside their 95% interval (coverage), in the target's own units: for each fold, as mean "
     "over folds, and for all rows together (pooled); then how well the rows are ordered "
     "(spearman, "
     "kendall, ndcg, recall), crps, calibration and qwk. For labels, accuracy, micro and macro F1, "
     "with two classes auc and auprc, with grades qwk, of a Gaussian process log_loss, brier and "
     "calibration; then precision, recall and F1 of each class, and which class was taken for "
     "which. docs/models.md says what each figure is.",
     "luthier cv reviews.tsv --target score --kernel 'ssk(text)' --folds 5\n"
     "luthier cv t.tsv --target joy,fear --kernel 'ssk(text)' --fold-by fold --json",
     1, MANY, run_cv},
    {"show", "M [options]", "what a model has learned, and how",
     "Prints the kernel with its learned values, ready to paste; its hyperparameters; what each "
     "order of a string kernel contributes; evidence, noise, and how well each training row is "
     "predicted from the others (leave-one-out). Of a model for labels the classes, of a support "
     "vector machine its type, support rows and grid.",
     "luthier show score\nluthier show score --json", 1, 1, run_show},
    {"report", "M -o FILE [options]", "a page about a model: what it learned, and how well it does",
     "Writes one HTML file, which needs no network: hyperparameters and their meaning, how "
     "learning "
     "went, leave-one-out predictions with their calibration, the heaviest patterns, the rows that "
     "surprise the model most. With --data, also how well it does on the rows of a table that has "
     "the true values: for labels which class is taken for which, and how honest the "
     "probabilities are. Of sequences, also what every single mutation adds.",
     "luthier report score -o score.html\n"
     "luthier report score --data test.tsv --title 'Review scores' -o score.html",
     1, 1, run_report},
    {"serve", "M [options]", "a model behind a web page and a JSON interface",
     "Answers HTTP requests until Ctrl-C. GET / is a page on which a text is typed and its "
     "prediction seen at once, with its reasons; GET /report the page of report. POST /predict, "
     "/explain and /mutate take rows as JSON and answer as these commands do with --json; GET "
     "/health says that it runs, GET /metrics how it does, for Prometheus. SIGHUP reads the model "
     "again. Only this machine can reach it unless --host says otherwise; "
     "there is no encryption and no password.",
     "luthier serve score\n"
     "luthier serve score --port 0 --title 'Review scores'\n"
     "curl -H 'Content-Type: application/json' -d '{\"text\": \"not bad\"}' "
     "http://127.0.0.1:8080/predict",
     1, 1, run_serve},
    {"sample", "TABLE... --kernel EXPR --noise V [options]",
     "labels drawn from the prior, for synthetic experiments",
     "Draws values for the rows of TABLE from a Gaussian process with the kernel EXPR as it is "
     "written and noise of variance V. Prints one line for each row, one column for each draw. "
     "With --likelihood, what that shows of the function: grades count from 0, labels are -1 and "
     "1; only those with noise want --noise, other parameters are given by --set.",
     "luthier sample reviews.tsv --kernel 'ssk(text, gap=0.3)' --noise 0.1\n"
     "luthier sample reviews.tsv --kernel 'ssk(text)' --noise 0.1 --draws 20\n"
     "luthier sample t.tsv --kernel 'rbf(x)' --likelihood poisson --set mean=2",
     1, MANY, run_sample},
    {"gram", "TABLE... --kernel EXPR -o K.npy [options]",
     "the Gram matrix of a table's rows, as NumPy or Zarr",
     "Compares every row of TABLE with every other by the kernel EXPR, and writes the values as a "
     "float64 array of shape (rows, rows), rows in table order. TABLE is TSV, CSV or JSONL, by its "
     "extension, also gzipped; - is standard input.\n"
     "To K.zarr, a folder, it writes tile by tile, so that memory holds a few tiles only, and "
     "whatever stops it, --resume goes on. It is an array of Zarr version 2, which fit, cv and "
     "align read by --gram.",
     "luthier gram reviews.tsv --kernel 'normalize(ssk(text))' -o K.npy\n"
     "luthier gram new.csv --against old.csv --kernel 'ssk(text, units=chars)' -o K.npy\n"
     "luthier gram reviews.tsv --kernel 'ssk(text, order=3)' --gradients G.npy\n"
     "luthier gram large.tsv --kernel 'ssk(text)' -o K.zarr --part 3/64",
     1, MANY, run_gram},
    {"align", "TABLE... --kernel A --with B [options]", "how alike two kernels are on a table",
     "Prints the alignment of the Gram matrices of two kernels, the cosine between them as "
     "vectors: 1 if they are the same up to a factor. With --target instead of --with, the "
     "alignment with the ideal kernel: y y^T for a column of numbers; for one of labels 1 where "
     "two rows have the same, else 0.",
     "luthier align t.tsv --kernel 'ssk(text, units=chars)' --with 'ngrams(text)'\n"
     "luthier align t.tsv --kernel 'normalize(tfidf(text))' --target topic --center",
     1, MANY, run_align},
    {"kernels", "[NAME]", "every kernel with its hyperparameters, defaults and bounds",
     "Without NAME: a table with one line for each argument of each kernel. With NAME: all there "
     "is to know about that kernel.",
     "luthier kernels\nluthier kernels ssk", 0, 1, run_kernels},
    {"bench", "[options]", "how fast string kernels are on this machine",
     "Measures cell-orders per second (cells of the string kernel's table, times its order) for "
     "each instruction set and precision on random strings of letters, and compares them with "
     "a quarter of the machine's rate of multiply-adds: four instructions for each cell-order. "
     "CPUs that add and mask beside their multiply-adds pass a share of 1. Takes about ten "
     "seconds. --isa and --precision measure only the one given, and no cell is skipped unless "
     "--dropping says so.",
     "luthier bench\nluthier bench --isa avx2 --json", 0, 0, run_bench},
    {"demo", "[options]", "what a string kernel learns and a bag of words cannot",
     "Learns the scores of product reviews, which the program brings along, by a bag of words and "
     "by "
     "a string kernel, compares them by cross-validation, and predicts new sentences with error "
     "bars. Needs no file and takes a few seconds. At its end it writes a page about the string "
     "kernel, as report does: to -o FILE, or luthier-demo-report.html here or in build/.",
     "luthier demo\nluthier demo -o page.html", 0, 0, run_demo},
    {"mutate", "M [options]", "what a model expects of every single mutation of a sequence",
     "Prints for the wild type, and for every site of it and every other letter, what the model M "
     "expects of the sequence with that letter there: the columns of predict, and for numbers "
     "effect, the mean less that of the wild type. M is a model of one column of sequences. One "
     "whose kernel has a wild_type needs no other; else --wild-type names a FASTA file whose first "
     "record is mutated.",
     "luthier mutate M --wild-type wt.fa\n"
     "luthier mutate M --wild-type wt.fa --as html -o scan.html\n"
     "luthier mutate M --letters ACGT -o scan.tsv",
     1, 1, run_mutate},
    {"scan", "M SEQUENCES [options]", "what a model expects of windows along sequences",
     "Cuts each sequence of SEQUENCES, a FASTA file or a table, into windows as long as the "
     "training sequences, and prints for each what predict would: id, start and end (counted from "
     "0, without the end), and the columns of predict. Windows with letters that no training "
     "sequence has, such as runs of N, are left out; where training has one case "
     "alone, the other counts as that. --bedgraph prints one value for a genome browser: as "
     "intervals there do "
     "not overlap, that of a window is drawn over the step in its middle.",
     "luthier scan M chr21.fa.gz -o chr21.tsv\n"
     "luthier scan M chr21.fa --window 200 --step 20 --bedgraph -o chr21.bedgraph",
     2, 2, run_scan},
    {"propose", "M... --from TABLE | --space RULES [options]", "which rows to measure next",
     "Prints the rows of --from, or the texts that --space allows, that are most worth measuring "
     "next "
     "by what the model M knows and does not know: best first, as a batch whose rows differ. Each "
     "comes with what is expected of it (mean, sd), its acquisition, and the measured row that is "
     "nearest. Several models, or targets of one, are objectives that are weighed against each "
     "other. Rows that M has learned from are left out.",
     "luthier propose M --from candidates.tsv -k 96\n"
     "luthier propose M --from candidates.tsv -k 96 --acquisition ts --json\n"
     "luthier propose M --space 'from=wt.fa, max-mutations=5' -k 24 -o next.tsv",
     1, MANY, run_propose},
    {"design", "new|ask|tell|forget|status|simulate DIR|TABLE [options]",
     "a campaign: ask what to measure, tell what came out, and again",
     "new makes the folder DIR with --kernel, --target, and --from or --space. ask DIR prints the "
     "next -k rows and notes that they are being measured; tell DIR RESULTS takes tables with what "
     "came out, and forget DIR ROWS those that are no longer being measured; status DIR says how "
     "far it is, and writes a page about it to -o FILE.html. simulate TABLE plays campaigns on a "
     "table whose answers are known, and compares them with random choice.",
     "luthier design new lab --from all.tsv --target y --kernel 'sites(seq)'\n"
     "luthier design ask lab -k 96 -o round1.tsv\n"
     "luthier design tell lab results1.tsv\n"
     "luthier design status lab -o lab.html\n"
     "luthier design simulate t.tsv --target y --kernel 'sites(seq)' -k 96",
     2, MANY, run_design},
    {"compare", "M1 M2... TABLE [options]", "whether one model is better than another",
     "Predicts the rows of TABLE, which has the true values, by each model, and prints the figures "
     "of cv for each: its value, what M1 has less it, the 95% interval of that difference, the "
     "share of resamples in which M1 is better (ties count half), and the two-sided p of no "
     "difference. Resamples draw "
     "as many rows with replacement, the same ones for all models (the paired bootstrap). Models "
     "of the same targets, of either kind; TABLE should have no rows that they were fitted to.",
     "luthier compare words chars test.tsv\n"
     "luthier compare m1 m2 m3 test.tsv --where split=test --resamples 10000 --json",
     3, MANY, run_compare},
    {"_help", "[COMMAND]", "this overview, or the help of a command", "", "", 0, 1, run_help},
    {"_man", "", "the man page", "", "", 0, 0, run_man},
    {"_completion", "", "completion for bash", "", "", 0, 0, run_completion},
    {.name = NULL},
};
