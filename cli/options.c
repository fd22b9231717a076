/* The tables of commands and options, and the reading of a command line by them. */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

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
     "/health says that it runs. Only this machine can reach it unless --host says otherwise; "
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
    {"_help", "[COMMAND]", "this overview, or the help of a command", "", "", 0, 1, run_help},
    {"_man", "", "the man page", "", "", 0, 0, run_man},
    {"_completion", "", "completion for bash", "", "", 0, 0, run_completion},
    {.name = NULL},
};

/* Bits by the order of the commands above. */
enum {
    FIT = 1 << 0,
    PREDICT = 1 << 1,
    EXPLAIN = 1 << 2,
    CV = 1 << 3,
    SHOW = 1 << 4,
    REPORT = 1 << 5,
    SERVE = 1 << 6,
    SAMPLE = 1 << 7,
    GRAM = 1 << 8,
    ALIGN = 1 << 9,
    KERNELS = 1 << 10,
    BENCH = 1 << 11,
    DEMO = 1 << 12,
    MUTATE = 1 << 13,
    SCAN = 1 << 14,
    COMMON = 1 << 30
};
enum {
    LEARNING = FIT | CV,
    SHARED = FIT | PREDICT | CV | GRAM,
    WITH_KERNEL = FIT | CV | SAMPLE | GRAM | ALIGN,
    FILLED = FIT | CV | GRAM, /* have one kernel, and what holds for all of it */
    WITH_TABLES = WITH_KERNEL | PREDICT | EXPLAIN | REPORT,
    READING = WITH_TABLES | COMMON,
    WORKING = READING | BENCH | DEMO | SERVE | MUTATE | SCAN,
    ALL = WORKING | SHOW | KERNELS
};

#define FIELD(name) offsetof(options, name)

const option option_table[] = {
    {0, "target", OPTION_LIST, "COL[,COL...]", FIELD(target), LEARNING | ALIGN | REPORT | EXPLAIN,
     0,
     "the columns to learn; may be repeated. For align one column, of numbers or labels; for "
     "report, those of --data that hold the true values (default: as they were learned); for "
     "explain, those of the model to explain (default: all)"},
    {0, "label-by", OPTION_CHOICE, "file", FIELD(label_by), WITH_TABLES, 0,
     "give every row the name of its file, without folder and extension, in a column \"file\"; fit "
     "and cv learn these labels unless --target names others"},
    {0, "kernel", OPTION_TEXT, "EXPR", FIELD(kernel), WITH_KERNEL, 0,
     "the kernel, such as 'normalize(ssk(text, order=5))'; luthier kernels lists them"},
    {'o', "output", OPTION_FILE, "FILE", FIELD(output),
     FIT | PREDICT | EXPLAIN | REPORT | SAMPLE | GRAM | DEMO | MUTATE | SCAN, 0,
     "where to write the result; - is standard output"},
    {0, "model", OPTION_TEXT, "gp|svm", FIELD(model), LEARNING, 0,
     "the kind of model: gp, a Gaussian process (default), or svm, a support vector machine"},
    {0, "task", OPTION_CHOICE, "auto|regression|classification", FIELD(task), LEARNING, 0,
     "how to read the target: as numbers, or as labels, several of them separated by commas "
     "(default auto: numbers if every cell is one; for gp, if the first one is)"},
    {0, "likelihood", OPTION_CHOICE,
     "logit|probit|gaussian|student|warped|censored|ordinal|poisson|negbinomial|beta|softmax",
     FIELD(likelihood), LEARNING | SAMPLE, 0,
     "gp: what is seen of the function. Numbers: with normal noise (default gaussian), with heavy "
     "tails (student), after a learned warp (warped, see --warp), with bounds at which they pile "
     "up (censored, see --lower), few grades in order (ordinal), counts (poisson, or with more "
     "spread negbinomial), shares between 0 and 1 (beta). Labels: by the logistic (default logit) "
     "or the normal distribution function (probit), one class against the rest, or all together "
     "(softmax)"},
    {0, "warp", OPTION_CHOICE, "log|boxcox|sinh|tanh", FIELD(warp), LEARNING | SAMPLE, 0,
     "gp: the warp of --likelihood warped, whose parameters are learned: log(y + c) (default log), "
     "Box and Cox's power, sinh(a asinh(y) - b) for tails on both sides, or a sum of steps"},
    {0, "lower", OPTION_TEXT, "V", FIELD(lower), LEARNING | SAMPLE, 0,
     "gp: with --likelihood censored, what is at or below V may be anything below"},
    {0, "upper", OPTION_TEXT, "V", FIELD(upper), LEARNING | SAMPLE, 0, "gp: the same above"},
    {0, "noise-by", OPTION_TEXT, "COL|1/COL", FIELD(noise_by), LEARNING, 0,
     "gp: a column with the known variance of each row's noise, which is added to the learned one; "
     "1/COL: with the number of repeats that each number is the mean of"},
    {0, "noise-kernel", OPTION_TEXT, "EXPR", FIELD(noise_kernel), LEARNING | SAMPLE, 0,
     "gp: the noise is a function of the row too: the kernel of its logarithm, learned with the "
     "other"},
    {0, "weights", OPTION_TEXT, "COL", FIELD(weights), LEARNING, 0,
     "gp: a column that says how often each row counts"},
    {0, "exposure", OPTION_TEXT, "COL", FIELD(exposure), LEARNING, 0,
     "gp: a column that counts are in proportion to: hours, length, population"},
    {0, "coregion", OPTION_NUMBER, "R", FIELD(coregion), LEARNING, 1000,
     "gp: several targets learn from each other, by R numbers that each has; their cells may be "
     "empty"},
    {0, "point", OPTION_CHOICE, "mean|median", FIELD(point), LEARNING, 0,
     "gp: the number that stands for a prediction, by which errors are counted (default mean); the "
     "median has the least absolute error"},
    {0, "posterior", OPTION_CHOICE, "auto|exact|cg|inducing|laplace|sites", FIELD(posterior),
     LEARNING, 0,
     "gp: how all rows are taken into account: exact, by a factor of their matrix; cg, by "
     "conjugate "
     "gradients over the stored matrix (numbers only); inducing, by some rows that stand for all; "
     "laplace or sites, of likelihoods that are not normal: around the mode, or the best normal "
     "distribution; "
     "auto (default), the most exact that fits into memory"},
    {0, "inducing", OPTION_NUMBER, "M", FIELD(inducing), LEARNING, 1000000,
     "gp: rows that stand for all; makes --posterior inducing (default: an eighth of the rows, "
     "1000 "
     "to 4000, where that is ten minutes' work of one core)"},
    {0, "learn-rows", OPTION_TEXT, "N|all", FIELD(learn_rows), LEARNING, 0,
     "gp: learn the hyperparameters from N rows, drawn by --seed so that the target keeps its "
     "distribution (default: all when that is about an hour's work of one core, else as many as "
     "take it ten minutes)"},
    {0, "bound", OPTION_CHOICE, "none|fitc|titsias", FIELD(bound), LEARNING, 0,
     "gp: with inducing rows, learn on from all rows by this bound (default none)"},
    {0, "tolerance", OPTION_TEXT, "V", FIELD(tolerance), LEARNING, 0,
     "gp: the relative residual at which conjugate gradients stop (default 1e-8)"},
    {0, "probes", OPTION_NUMBER, "N", FIELD(probes), LEARNING, 100000,
     "gp: random vectors by which conjugate gradients know variances (default 128)"},
    {0, "store", OPTION_CHOICE, "f64|f32|disk", FIELD(store), LEARNING, 0,
     "gp: how conjugate gradients keep the matrix: 8 or 4 bytes a pair of rows; disk, not at all: "
     "--gram is read for every product"},
    {0, "plan", OPTION_FLAG, NULL, FIELD(plan), FIT, 0,
     "gp: print what the fit would need (pairs, memory, time, which posterior), and end"},
    {0, "svm", OPTION_CHOICE, "c|nu", FIELD(svm), LEARNING, 0,
     "svm: C-SVC and epsilon-SVR (default c), or nu-SVC and nu-SVR"},
    {0, "C", OPTION_TEXT, "V[,V...]", FIELD(C), LEARNING, 0,
     "svm: the price of errors (default 1); several are a grid"},
    {0, "epsilon", OPTION_TEXT, "V[,V...]", FIELD(epsilon), LEARNING, 0,
     "svm: errors of numbers up to this are free (default 0.1); several are a grid"},
    {0, "nu", OPTION_TEXT, "V[,V...]", FIELD(nu), LEARNING, 0,
     "svm: with --svm nu, the least share of support rows (default 0.5); several are a grid"},
    {0, "set", OPTION_PAIRS, "PATH=V[,V...]", FIELD(set), LEARNING | SAMPLE, 0,
     "svm: values of the kernel to try, such as ssk.gap=0.1,0.5 or ssk.order=3,4,5; may be "
     "repeated. For sample, parameters of --likelihood and --warp: dof=4, gap=1,1,0.5 (of five "
     "grades), dispersion=0.5, c=1; mean=2 is added to the function"},
    {0, "solver", OPTION_CHOICE, "auto|kernel|linear|origin", FIELD(solver), LEARNING, 0,
     "svm: kernel: from the Gram matrix; linear: for inner products of sparse features, a weight "
     "for each; origin: labels, without a threshold (default auto: linear where it can be, for "
     "more than 2,000 rows)"},
    {0, "features", OPTION_NUMBER, "M", FIELD(features), LEARNING, 1000000,
     "svm: M rows stand for all: each row is described by its similarities with these, without a "
     "Gram matrix, for tables of many rows"},
    {0, "inner-folds", OPTION_NUMBER, "K", FIELD(inner_folds), LEARNING, 1000000,
     "svm: folds of the training rows that a grid is judged by (default 3)"},
    {0, "multi", OPTION_CHOICE, "ovo|ovr", FIELD(multi), LEARNING, 0,
     "svm: more than two classes are told apart each from the rest (default ovr; ovo with --svm "
     "nu) or in pairs"},
    {0, "class-weights", OPTION_TEXT, "balanced|NAME=W[,NAME=W...]", FIELD(class_weights), LEARNING,
     0, "svm: factors of C for classes; balanced makes up for their sizes"},
    {0, "probability", OPTION_FLAG, NULL, FIELD(probability), FIT, 0,
     "svm: also calibrate probabilities, which predict then prints"},
    {0, "max-iter", OPTION_NUMBER, "N", FIELD(max_iter), LEARNING, 1000000,
     "iterations of the optimiser (default 200)"},
    {0, "restarts", OPTION_NUMBER, "N", FIELD(restarts), LEARNING, 1000000,
     "random starts beside the informed one (default 4); the best of them is finished"},
    {0, "mean", OPTION_TEXT, "zero|constant|COL[+COL...]", FIELD(mean), LEARNING, 0,
     "zero, or take the mean of the target out first (default constant); and a linear model of "
     "number columns, as in 'score + f1..f17'"},
    {0, "unscaled", OPTION_FLAG, NULL, FIELD(unscaled), LEARNING, 0,
     "keep the target's own scale: kernel values are then in its units squared"},
    {0, "noise", OPTION_TEXT, "V[!]", FIELD(noise), LEARNING | SAMPLE, 0,
     "variance of the noise, in the target's units squared: where learning starts (default: half "
     "of the target's variance), or with ! its fixed value"},
    {0, "fix", OPTION_LIST, "PATH[,PATH...]", FIELD(fix), LEARNING, 0,
     "do not learn these: ssk.gap, ssk.weights (all of them), noise, or for labels scale; may be "
     "repeated"},
    {0, "prior", OPTION_PAIRS, "PATH=MEDIAN,SD", FIELD(prior), LEARNING, 0,
     "draw a hyperparameter, or each of a group such as ssk.weights, towards MEDIAN: log-normal, "
     "SD is that of the logarithm; may be repeated"},
    {0, "journal", OPTION_FILE, "FILE", FIELD(journal), FIT, 0,
     "gp: keep every evaluation of the search in FILE; the same command goes on where it was "
     "killed. FILE is removed when the model is written, unless by Ctrl-C"},
    {0, "intervals", OPTION_FLAG, NULL, FIELD(intervals), FIT, 0,
     "find 95% intervals of the hyperparameters, which show prints: two evaluations more for each "
     "of them"},
    {0, "average", OPTION_NUMBER, "S", FIELD(average), LEARNING, 1000,
     "predict by the average over S draws of the hyperparameters, not by the best ones alone; "
     "finds the intervals too"},
    {0, "no-learn", OPTION_FLAG, NULL, FIELD(no_learn), LEARNING, 0,
     "keep all hyperparameters as they are given"},
    {0, "latent", OPTION_FLAG, NULL, FIELD(latent), PREDICT | MUTATE | SCAN, 0,
     "standard deviation and interval of the function, without the noise"},
    {0, "score", OPTION_FLAG, NULL, FIELD(score), PREDICT, 0,
     "TABLE has the true values too: print how good the predictions are, the figures of cv, "
     "instead "
     "of them; with -o FILE they are written there"},
    {0, "given", OPTION_LIST, "COL[,COL...]", FIELD(given), PREDICT, 0,
     "targets of a model with --coregion whose numbers TABLE has: predict the others from these "
     "too, of each row by itself; cells may be empty"},
    {0, "row", OPTION_LIST, "N[,N...]", FIELD(row), EXPLAIN, 0,
     "only these rows, by their number in the file; may be repeated"},
    {0, "class", OPTION_TEXT, "NAME", FIELD(class_name), EXPLAIN, 0,
     "labels: explain this class (default: the one that is predicted)"},
    {0, "patterns", OPTION_NUMBER, "N", FIELD(patterns), EXPLAIN, 1000,
     "how many patterns to list (default 10; without TABLE, of each sign)"},
    {0, "rows", OPTION_NUMBER, "N", FIELD(rows), EXPLAIN, 1000000,
     "how many training rows to list (default 5)"},
    {0, "as", OPTION_CHOICE, "text|tsv|json|html", FIELD(as), EXPLAIN | MUTATE, 0,
     "how to print: for people (default text; of mutate the same as tsv), a line for each weight "
     "or mutation, an object for each row (as --json), or a page"},
    {0, "color", OPTION_CHOICE, "auto|always|never", FIELD(colour), EXPLAIN, 0,
     "mark words by colour: blue raises the prediction, red lowers it (default auto: on a "
     "terminal, unless NO_COLOR is set); otherwise they are a list"},
    {0, "folds", OPTION_NUMBER, "K", FIELD(folds), CV, 1000000,
     "number of folds, of a shuffle by --seed (default 10)"},
    {0, "fold-by", OPTION_TEXT, "COL", FIELD(fold_by), CV, 0,
     "rows with the same value in this column are a fold"},
    {0, "predictions", OPTION_FILE, "FILE", FIELD(predictions), CV, 0,
     "also write what was predicted for each row: row, target, fold, y, mean, sd; where the "
     "distribution is not normal, also median, lo, hi"},
    {0, "draws", OPTION_NUMBER, "N", FIELD(draws), SAMPLE, 1000000,
     "how many labels to draw for each row (default 1)"},
    {0, "against", OPTION_FILE, "TABLE2", FIELD(against), GRAM, 0,
     "compare the rows of TABLE with those of TABLE2; the result has shape (rows, rows2)"},
    {0, "data", OPTION_FILES, "TABLE", FIELD(data), REPORT, 0,
     "also judge the model on the rows of this table, which has the true values; may be repeated"},
    {0, "title", OPTION_TEXT, "TEXT", FIELD(title), REPORT | SERVE | MUTATE, 0,
     "the heading of the page (default: Model and the name of its file)"},
    {0, "port", OPTION_NUMBER, "N", FIELD(port), SERVE, 65535,
     "where to listen (default 8080); 0 takes a free one and says which"},
    {0, "host", OPTION_TEXT, "ADDRESS", FIELD(host), SERVE, 0,
     "the address to listen on (default 127.0.0.1: this machine alone)"},
    {0, "max-body", OPTION_NUMBER, "BYTES", FIELD(max_body), SERVE, UINT32_MAX,
     "the longest request (default 1048576)"},
    {0, "timeout", OPTION_NUMBER, "S", FIELD(timeout), SERVE, 86400,
     "seconds in which a request must have arrived, and its answer been taken (default 30)"},
    {0, "with", OPTION_TEXT, "EXPR", FIELD(with), ALIGN, 0, "the other kernel"},
    {0, "center", OPTION_FLAG, NULL, FIELD(center), ALIGN, 0,
     "take the means of rows and columns out of both matrices first"},
    {0, "gradients", OPTION_FILE, "FILE", FIELD(gradients), GRAM, 0,
     "also write the derivative by each hyperparameter, shape (parameters, rows, columns), and "
     "print the parameters' names in that order, one a line"},
    {0, "per-order", OPTION_FLAG, NULL, FIELD(per_order), GRAM, 0,
     "write every order of one string kernel, unweighted, shape (order, rows, columns)"},
    {0, "resume", OPTION_FLAG, NULL, FIELD(resume), GRAM, 0,
     "K.zarr: go on where an earlier run stopped, with the tiles that are missing"},
    {0, "part", OPTION_TEXT, "I/N", FIELD(part), GRAM, 0,
     "K.zarr: only the I-th of N parts; the others may run at the same time, on other machines "
     "too, "
     "and all write into one folder"},
    {0, "tile", OPTION_NUMBER, "ROWS", FIELD(tile), GRAM, 8192,
     "K.zarr: rows and columns of a tile (default 0: 512 to 1024, by the rows of the table)"},
    {0, "values", OPTION_CHOICE, "f64|f32", FIELD(values), GRAM, 0,
     "K.zarr: how values are written (default f64); f32 takes half of the disk"},
    {0, "gram", OPTION_FILE, "K.zarr", FIELD(gram), LEARNING | ALIGN, 0,
     "read the Gram matrix that gram wrote for the same table and --kernel, instead of computing "
     "it; the kernel is then kept as it is, only the noise (of labels, the scale) is learned"},

    {0, "threads", OPTION_NUMBER, "N", FIELD(threads), WORKING, 4096,
     "worker threads (default 0: all cores); serve loads the model once for each"},
    {0, "device", OPTION_TEXT, "NAME", FIELD(device), WORKING, 0,
     "where to compute: cpu (default), cuda or cuda:N (a GPU), cuda:N,M (several), auto (a GPU "
     "where there is one and the work is large)"},
    {0, "cluster", OPTION_TEXT, "NAME", FIELD(cluster), SHARED, 0,
     "share the work among the processes that mpirun or srun started: mpi, scalapack (its algebra "
     "for large matrices), none, or auto (default: mpi where there are several)"},
    {0, "seed", OPTION_NUMBER, "N", FIELD(seed), WORKING, UINT64_MAX,
     "seed of everything random (default 1)"},
    {0, "precision", OPTION_CHOICE, "f64|f32", FIELD(precision), WORKING, 0,
     "arithmetic inside string kernels (default f64); results are always float64"},
    {0, "isa", OPTION_TEXT, "NAME", FIELD(isa), WORKING, 0,
     "instruction set: portable, avx2 or avx512 (default: the best this CPU has)"},
    {0, "dropping", OPTION_CHOICE, "auto|on|off", FIELD(dropping), WORKING, 0,
     "skip positions of strings that cannot match (default auto: by a sample of the data)"},
    {0, "vectors", OPTION_FILE, "FILE", FIELD(vectors), READING | SERVE, 0,
     "word vectors: GloVe, word2vec or fastText, also gzipped; for predict, to find words that "
     "training did not have"},
    {0, "wild-type", OPTION_FILE, "FILE", FIELD(wild_type), FILLED | MUTATE | REPORT, 0,
     "a FASTA file whose first record is the wild type: cells are mutations of it, such as "
     "A108D:K9R, for every kernel with an argument wild_type that does not give it; for mutate "
     "and report, the sequence to mutate (default: the kernel's own; for report, else the "
     "consensus "
     "of training rows of one length)"},
    {0, "offset", OPTION_TEXT, "N", FIELD(offset), FILLED | MUTATE, 0,
     "positions in mutations are by N larger than places in the wild type: its first letter has "
     "the number N + 1 (default 0); may be negative"},
    {0, "ignore-case", OPTION_FLAG, NULL, FIELD(fold_case), FILLED, 0,
     "lower case is the same as upper, as in soft-masked genomes: lower=yes for every kernel with "
     "that argument that does not give it"},
    {0, "letters", OPTION_TEXT, "LETTERS", FIELD(letters), MUTATE | SCAN, 0,
     "letters to try at each site (default: the twenty amino acids; of --as html, those of the "
     "alphabet that the training rows have); for scan, those that a window "
     "may have (default: those of the training sequences)"},
    {0, "window", OPTION_NUMBER, "N", FIELD(window), SCAN, 1 << 20,
     "letters of a window (default: the median length of the training sequences)"},
    {0, "step", OPTION_NUMBER, "N", FIELD(step), SCAN, 1 << 30,
     "letters from one window to the next (default: a tenth of a window)"},
    {0, "column", OPTION_TEXT, "COL", FIELD(column), SCAN, 0,
     "the column of the sequences (default: sequence, as FASTA files have it, or the model's)"},
    {0, "bedgraph", OPTION_FLAG, NULL, FIELD(bedgraph), SCAN, 0,
     "print a bedGraph track of one value"},
    {0, "value", OPTION_TEXT, "NAME", FIELD(value), SCAN, 0,
     "the value of the track, a column of predict (default: mean, score, or the probability of the "
     "last of two classes)"},
    {0, "track", OPTION_TEXT, "NAME", FIELD(track), SCAN, 0,
     "the name of the track (default: that of the value)"},
    {0, "array", OPTION_PAIRS, "NAME=FILE", FIELD(array), FILLED | PREDICT | EXPLAIN | REPORT, 0,
     "a .npy file of float32 or float64 beside the tables, with one row for each of theirs; may be "
     "repeated. Kernels of numbers read it by its name, as rbf(NAME). For report, beside --data"},
    {0, "format", OPTION_CHOICE, "tsv|csv|jsonl|conllu|fasta|sst|klp|svmlight", FIELD(format),
     READING | SCAN, 0, "format of the tables (default: by their extension)"},
    {0, "where", OPTION_PAIRS, "COL=VALUE[,VALUE...]", FIELD(where), READING, 0,
     "keep only the rows with one of these values; may be repeated, and all must hold"},
    {0, "json", OPTION_FLAG, NULL, FIELD(json), ALL, 0, "print JSON instead of text"},
    {0, "progress", OPTION_CHOICE, "auto|always|never", FIELD(progress), WORKING, 0,
     "a progress bar on standard error (default auto: if it is a terminal)"},
    {'q', "quiet", OPTION_FLAG, NULL, FIELD(quiet), ALL, 0, "no warnings and no progress bar"},
    {'v', "verbose", OPTION_FLAG, NULL, FIELD(verbose), ALL, 0, "say what is done, and how fast"},
    {'h', "help", OPTION_FLAG, NULL, FIELD(help), ALL, 0, "print this help"},
    {0, "version", OPTION_FLAG, NULL, FIELD(version), ALL, 0, "print the version"},
    {.name = NULL},
};

bool takes_option(const command *c, const option *o) {
    return (o->commands >> (c - commands)) & 1;
}

bool is_common(const option *o) {
    return o->commands & COMMON;
}

bool shares_work(const command *c) {
    return (SHARED >> (c - commands)) & 1;
}

bool is_hidden(const command *c) {
    return c->name[0] == '_';
}

/* ---- Suggestions and usage errors ---- */

static const char *visible_command(const void *user, size_t i) {
    (void)user;
    return commands[i].name && !is_hidden(&commands[i]) ? commands[i].name : NULL;
}

static const char *option_name(const void *user, size_t i) {
    (void)user;
    return option_table[i].name;
}

int usage_error(const command *c, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("luthier: ", stderr);
    vfprintf(stderr, format, args);
    va_end(args);
    bool of_command = c && !is_hidden(c);
    fprintf(stderr, "\ntry luthier %s%s--help\n", of_command ? c->name : "", of_command ? " " : "");
    return EXIT_USAGE;
}

/* ---- Parsing ---- */

typedef struct parser {
    char **argv;
    int argc, next;
    bool given[sizeof option_table / sizeof *option_table];
    options *out;
} parser;

/* `help` is a command too, though it is not listed. */
static const command *find_command(const char *name) {
    for (const command *c = commands; c->name; ++c)
        if (strcmp(c->name, name) == 0 || (c->run == run_help && strcmp(name, "help") == 0))
            return c;
    return NULL;
}

static int unknown_command(const char *name) {
    const char *near = lth_nearest(name, visible_command, NULL);
    if (near) return usage_error(NULL, "unknown command \"%s\"; did you mean %s?", name, near);
    return usage_error(NULL, "unknown command \"%s\"", name);
}

static int take_positional(parser *p, const char *text) {
    options *out = p->out;
    if (!out->command) {
        out->command = find_command(text);
        return out->command ? EXIT_DONE : unknown_command(text);
    }
    if (out->argument_count == out->command->most)
        return usage_error(out->command, "unexpected argument \"%s\"", text);
    out->arguments[out->argument_count++] = text;
    return EXIT_DONE;
}

static int take_number(parser *p, const option *o, const char *text, uint64_t *field) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno || value > o->most)
        return usage_error(p->out->command, "--%s wants a whole number from 0 to %llu, not \"%s\"",
                           o->name, (unsigned long long)o->most, text);
    *field = value;
    return EXIT_DONE;
}

static int take_choice(parser *p, const option *o, const char *text, int *field) {
    const char *choice = o->value;
    for (int i = 0;; ++i) {
        size_t length = strcspn(choice, "|");
        if (strlen(text) == length && memcmp(choice, text, length) == 0) {
            *field = i;
            return EXIT_DONE;
        }
        if (!choice[length]) break;
        choice += length + 1;
    }
    return usage_error(p->out->command, "--%s wants %s, not \"%s\"", o->name, o->value, text);
}

static int take_item(parser *p, const option *o, const char *text, list *field, bool good) {
    if (!good)
        return usage_error(p->out->command, "--%s wants %s, not \"%s\"", o->name, o->value, text);
    field->at[field->count++] = text;
    return EXIT_DONE;
}

static int take_value(parser *p, const option *o, const char *text) {
    void *field = (char *)p->out + o->offset;
    switch (o->kind) {
    case OPTION_FLAG: break;
    case OPTION_TEXT:
    case OPTION_FILE:
        if (!*text) return usage_error(p->out->command, "--%s wants %s", o->name, o->value);
        *(const char **)field = text;
        break;
    case OPTION_NUMBER: return take_number(p, o, text, field);
    case OPTION_CHOICE: return take_choice(p, o, text, field);
    case OPTION_LIST:
    case OPTION_FILES: return take_item(p, o, text, field, *text);
    case OPTION_PAIRS: return take_item(p, o, text, field, strchr(text, '=') && *text != '=');
    }
    return EXIT_DONE;
}

/* An option with the value that is attached to it (NULL = none), or else the next argument. */
static int take_option(parser *p, const option *o, const char *attached) {
    p->given[o - option_table] = true;
    if (o->kind == OPTION_FLAG) {
        if (attached) return usage_error(p->out->command, "--%s takes no value", o->name);
        *(bool *)((char *)p->out + o->offset) = true;
        return EXIT_DONE;
    }
    if (!attached) {
        /* The next option is not a value; one that starts so is written --name=--value. */
        if (p->next == p->argc || strncmp(p->argv[p->next], "--", 2) == 0)
            return usage_error(p->out->command, "--%s wants a value: %s", o->name, o->value);
        attached = p->argv[p->next++];
    }
    return take_value(p, o, attached);
}

static int take_long(parser *p, const char *text) {
    char name[32];
    size_t length = strcspn(text, "=");
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1),
             text);
    for (const option *o = option_table; o->name; ++o)
        if (strcmp(o->name, name) == 0)
            return take_option(p, o, text[length] ? text + length + 1 : NULL);
    const char *near = lth_nearest(name, option_name, NULL);
    if (near)
        return usage_error(p->out->command, "unknown option --%s; did you mean --%s?", name, near);
    return usage_error(p->out->command, "unknown option --%s", name);
}

/* Letters may be joined: -qv, -oK.npy. */
static int take_letters(parser *p, const char *letters) {
    for (const char *letter = letters; *letter; ++letter) {
        const option *o = option_table;
        while (o->name && o->letter != *letter) ++o;
        if (!o->name) return usage_error(p->out->command, "unknown option -%s", letters);
        if (o->kind != OPTION_FLAG) return take_option(p, o, letter[1] ? letter + 1 : NULL);
        int code = take_option(p, o, NULL);
        if (code) return code;
    }
    return EXIT_DONE;
}

static int take_all(parser *p) {
    bool only_positionals = false;
    while (p->next < p->argc) {
        const char *word = p->argv[p->next++];
        int code;
        if (only_positionals || word[0] != '-' || !word[1])
            code = take_positional(p, word);
        else if (strcmp(word, "--") == 0)
            only_positionals = true, code = EXIT_DONE;
        else if (word[1] == '-')
            code = take_long(p, word + 2);
        else
            code = take_letters(p, word + 1);
        if (code) return code;
    }
    return EXIT_DONE;
}

static int check_complete(const parser *p) {
    const options *out = p->out;
    if (out->help || out->version) return EXIT_DONE;
    if (!out->command) return usage_error(NULL, "no command given");
    for (const option *o = option_table; o->name; ++o)
        if (p->given[o - option_table] && !is_common(o) && !takes_option(out->command, o))
            return usage_error(out->command, "%s does not take --%s", out->command->name, o->name);
    if (out->argument_count < out->command->least) {
        const char *missing = out->command->arguments; /* a word for each, in order */
        for (size_t i = 0; i < out->argument_count; ++i) missing += strcspn(missing, " ") + 1;
        return usage_error(out->command, "%s wants %.*s", out->command->name,
                           (int)strcspn(missing, " ."), missing);
    }
    return EXIT_DONE;
}

int options_parse(int argc, char **argv, options *out) {
    *out = (options){.seed = 1,
                     .precision = -1,
                     .dropping = -1,
                     .format = -1,
                     .progress = -1,
                     .likelihood = -1,
                     .warp = -1,
                     .point = -1,
                     .posterior = -1,
                     .bound = -1,
                     .store = -1,
                     .coregion = NOT_GIVEN,
                     .inducing = NOT_GIVEN,
                     .probes = NOT_GIVEN,
                     .task = -1,
                     .label_by = -1,
                     .svm = -1,
                     .multi = -1,
                     .solver = -1,
                     .values = -1,
                     .as = -1,
                     .colour = -1,
                     .patterns = NOT_GIVEN,
                     .window = NOT_GIVEN,
                     .step = NOT_GIVEN,
                     .rows = NOT_GIVEN,
                     .inner_folds = NOT_GIVEN,
                     .features = NOT_GIVEN,
                     .draws = 1,
                     .port = 8080,
                     .host = "127.0.0.1",
                     .max_body = 1 << 20,
                     .timeout = 30,
                     .max_iter = NOT_GIVEN,
                     .restarts = NOT_GIVEN,
                     .average = NOT_GIVEN,
                     .folds = NOT_GIVEN};
    list *lists[] = {&out->where, &out->target, &out->fix,  &out->prior, &out->set,
                     &out->row,   &out->given,  &out->data, &out->array};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; ++i) {
        lists[i]->at = calloc((size_t)argc + 1, sizeof *lists[i]->at);
        if (lists[i]->at) continue;
        fputs("luthier: out of memory\n", stderr);
        return EXIT_FAILED;
    }
    out->arguments = calloc((size_t)argc + 1, sizeof *out->arguments);
    if (!out->arguments) {
        fputs("luthier: out of memory\n", stderr);
        return EXIT_FAILED;
    }
    parser p = {.argv = argv, .argc = argc, .next = 1, .out = out};
    int code = take_all(&p);
    return code ? code : check_complete(&p);
}

void options_free(options *o) {
    free(o->arguments);
    free(o->data.at);
    free(o->array.at);
    free(o->where.at);
    free(o->target.at);
    free(o->fix.at);
    free(o->prior.at);
    free(o->set.at);
    free(o->row.at);
    free(o->given.at);
}
