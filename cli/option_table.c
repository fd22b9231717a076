/* The table of options, and which commands take them. */
#include "options.h"

/* Bits by the order of the commands. */
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
    PROPOSE = 1 << 15,
    DESIGN = 1 << 16,
    COMPARE = 1 << 17,
    COMMON = 1 << 30
};
enum {
    LEARNING = FIT | CV,
    OF_PROCESSES = LEARNING | DESIGN, /* Gaussian ones */
    CHOOSING = PROPOSE | DESIGN,      /* what to measure next */
    SHARED = FIT | PREDICT | CV | GRAM,
    WITH_KERNEL = FIT | CV | SAMPLE | GRAM | ALIGN,
    FILLED = FIT | CV | GRAM, /* have one kernel, and what holds for all of it */
    WITH_TABLES = WITH_KERNEL | PREDICT | EXPLAIN | REPORT | COMPARE,
    READING = WITH_TABLES | COMMON,
    WORKING = READING | BENCH | DEMO | SERVE | MUTATE | SCAN | PROPOSE | DESIGN,
    ALL = WORKING | SHOW | KERNELS
};

#define FIELD(name) offsetof(options, name)

const option option_table[] = {
    {0, "target", OPTION_LIST, "COL[,COL...]", FIELD(target),
     LEARNING | ALIGN | REPORT | EXPLAIN | DESIGN, 0,
     "the columns to learn; may be repeated. For align one column, of numbers or labels; for "
     "report, those of --data that hold the true values (default: as they were learned); for "
     "explain, those of the model to explain (default: all)"},
    {0, "label-by", OPTION_CHOICE, "file", FIELD(label_by), WITH_TABLES, 0,
     "give every row the name of its file, without folder and extension, in a column \"file\"; fit "
     "and cv learn these labels unless --target names others"},
    {0, "kernel", OPTION_TEXT, "EXPR", FIELD(kernel), WITH_KERNEL | DESIGN, 0,
     "the kernel, such as 'normalize(ssk(text, order=5))'; luthier kernels lists them"},
    {'o', "output", OPTION_OUTPUT, "FILE", FIELD(output),
     FIT | PREDICT | EXPLAIN | REPORT | SAMPLE | GRAM | DEMO | MUTATE | SCAN | CHOOSING, 0,
     "where to write the result; - is standard output"},
    {0, "from", OPTION_FILE, "TABLE", FIELD(from), CHOOSING, 0,
     "the rows to choose from: a table with the columns that the model reads"},
    {0, "space", OPTION_TEXT, "RULES", FIELD(space), CHOOSING, 0,
     "search instead among all texts that keep to rules: 'alphabet=ACGT, length=5..12', "
     "'from=wt.fa, "
     "sites=39,40,41,54', 'max-mutations=5', 'forbid=REGEX', 'motif=REGEX'"},
    {'k', "count", OPTION_NUMBER, "K", FIELD(count), CHOOSING, 1000000,
     "rows to propose (default 10)"},
    {0, "acquisition", OPTION_CHOICE, "auto|ei|logei|ucb|ts|greedy|pi|variance|entropy|bald|margin",
     FIELD(acquisition), CHOOSING, 0,
     "what makes a row worth measuring: the expected improvement, its logarithm, mean + beta sd, a "
     "draw from the posterior, the mean, the probability of an improvement, the variance; of "
     "labels their entropy, what a label would tell of the function, a small margin (default: "
     "logei; "
     "of labels bald)"},
    {0, "batch", OPTION_CHOICE, "auto|joint|believer|thompson|top", FIELD(batch), CHOOSING, 0,
     "how rows of a batch differ: by the improvement expected of all together, by believing the "
     "means of those before, by a draw each, or not at all (default: thompson "
     "for ts, top for greedy, else believer)"},
    {0, "maximize", OPTION_FLAG, NULL, FIELD(maximize), CHOOSING, 0,
     "look for high values (default)"},
    {0, "minimize", OPTION_FLAG, NULL, FIELD(minimize), CHOOSING, 0, "look for low values"},
    {0, "objective", OPTION_LIST, "NAME[=max|min][,...]", FIELD(objective), CHOOSING, 0,
     "the targets to optimise, or the class of labels to look for (default: all targets); several "
     "are judged by the hypervolume they add; may be repeated"},
    {0, "objective-weights", OPTION_TEXT, "W[,W...]", FIELD(objective_weights), CHOOSING, 0,
     "judge several objectives by this weighted sum of them instead"},
    {0, "beta", OPTION_TEXT, "V", FIELD(beta), CHOOSING, 0,
     "standard deviations that ucb adds (default 2)"},
    {0, "best", OPTION_TEXT, "V", FIELD(best), PROPOSE, 0,
     "the value to improve on (default: the best that is expected of a training row)"},
    {0, "pending", OPTION_FILE, "TABLE", FIELD(pending), PROPOSE, 0,
     "rows that are being measured: they are not proposed again, and count as if they came out as "
     "expected"},
    {0, "measured", OPTION_FILE, "TABLE", FIELD(measured), PROPOSE, 0,
     "rows not to propose, beside those the model has learned from"},
    {0, "feasible", OPTION_FILE, "M2", FIELD(feasible), CHOOSING, 0,
     "a second model: proposals count by the probability that its label is --feasible-class, or "
     "its "
     "number between --feasible-least and --feasible-most"},
    {0, "feasible-class", OPTION_TEXT, "NAME", FIELD(feasible_class), CHOOSING, 0,
     "the label of rows that can be used (default: the last by name)"},
    {0, "feasible-least", OPTION_TEXT, "V", FIELD(feasible_least), CHOOSING, 0,
     "the least number of rows that can be used"},
    {0, "feasible-most", OPTION_TEXT, "V", FIELD(feasible_most), CHOOSING, 0,
     "the largest number of rows that can be used"},
    {0, "cost", OPTION_TEXT, "COL", FIELD(cost), CHOOSING, 0,
     "a column of --from: what it costs to measure a row; proposals count by unit of it"},
    {0, "distance", OPTION_NUMBER, "N", FIELD(distance), CHOOSING, 1000000,
     "letters by which proposals differ from each other and from measured rows (default 1)"},
    {0, "shortlist", OPTION_NUMBER, "N", FIELD(shortlist), CHOOSING, 100000,
     "rows whose joint posterior is looked at (default 2048)"},
    {0, "evaluations", OPTION_NUMBER, "N", FIELD(evaluations), CHOOSING, 1000000000,
     "with --space: acquisition values to compute (default 20000)"},
    {0, "population", OPTION_NUMBER, "N", FIELD(population), CHOOSING, 1000000,
     "with --space: texts kept from one generation to the next (default 256)"},
    {0, "trust", OPTION_NUMBER, "N", FIELD(trust), CHOOSING, 1000000,
     "with --space: edits from the best measured rows at most (default: no limit)"},
    {0, "valid", OPTION_TEXT, "CMD", FIELD(valid), CHOOSING, 0,
     "with --space: a command that reads texts, one a line, and answers each with 1 or 0"},
    {0, "explain", OPTION_FLAG, NULL, FIELD(explain), CHOOSING, 0,
     "print with each proposal what speaks for it"},
    {0, "rounds", OPTION_NUMBER, "N", FIELD(rounds), DESIGN, 1000000,
     "simulate: rounds after the start (default 4)"},
    {0, "start", OPTION_NUMBER, "N", FIELD(start), DESIGN, 10000000,
     "simulate: rows measured at random before the first round (default: as --count)"},
    {0, "seeds", OPTION_NUMBER, "N", FIELD(seeds), DESIGN, 100000,
     "simulate: campaigns with different random starts (default 10)"},
    {0, "repeats", OPTION_FLAG, NULL, FIELD(repeats), DESIGN, 0,
     "tell: count rows again that are measured already with the same value"},
    {0, "optimum", OPTION_TEXT, "V", FIELD(optimum), DESIGN, 0,
     "status: the best value that there is, where it is known, to tell what is missing to it"},
    {0, "model", OPTION_TEXT, "gp|svm", FIELD(model), LEARNING, 0,
     "the kind of model: gp, a Gaussian process (default), or svm, a support vector machine"},
    {0, "task", OPTION_CHOICE, "auto|regression|classification", FIELD(task), LEARNING, 0,
     "how to read the target: as numbers, or as labels, several of them separated by commas "
     "(default auto: numbers if every cell is one; for gp, if the first one is)"},
    {0, "likelihood", OPTION_CHOICE,
     "logit|probit|gaussian|student|warped|censored|ordinal|poisson|negbinomial|beta|softmax",
     FIELD(likelihood), OF_PROCESSES | SAMPLE, 0,
     "gp: what is seen of the function. Numbers: with normal noise (default gaussian), with heavy "
     "tails (student), after a learned warp (warped, see --warp), with bounds at which they pile "
     "up (censored, see --lower), few grades in order (ordinal), counts (poisson, or with more "
     "spread negbinomial), shares between 0 and 1 (beta). Labels: by the logistic (default logit) "
     "or the normal distribution function (probit), one class against the rest, or all together "
     "(softmax)"},
    {0, "warp", OPTION_CHOICE, "log|boxcox|sinh|tanh", FIELD(warp), OF_PROCESSES | SAMPLE, 0,
     "gp: the warp of --likelihood warped, whose parameters are learned: log(y + c) (default log), "
     "Box and Cox's power, sinh(a asinh(y) - b) for tails on both sides, or a sum of steps"},
    {0, "lower", OPTION_TEXT, "V", FIELD(lower), OF_PROCESSES | SAMPLE, 0,
     "gp: with --likelihood censored, what is at or below V may be anything below"},
    {0, "upper", OPTION_TEXT, "V", FIELD(upper), OF_PROCESSES | SAMPLE, 0, "gp: the same above"},
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
    {0, "point", OPTION_CHOICE, "mean|median", FIELD(point), OF_PROCESSES, 0,
     "gp: the number that stands for a prediction, by which errors are counted (default mean); the "
     "median has the least absolute error"},
    {0, "calibrate", OPTION_CHOICE, "no|yes", FIELD(calibrate), OF_PROCESSES, 0,
     "gp: of labels, learn from rows that are left out how sharp probabilities are (default yes)"},
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
    {0, "max-iter", OPTION_NUMBER, "N", FIELD(max_iter), OF_PROCESSES, 1000000,
     "iterations of the optimiser (default 200)"},
    {0, "restarts", OPTION_NUMBER, "N", FIELD(restarts), OF_PROCESSES, 1000000,
     "random starts beside the informed one (default 4); the best of them is finished"},
    {0, "mean", OPTION_TEXT, "zero|constant|COL[+COL...]", FIELD(mean), OF_PROCESSES, 0,
     "zero, or take the mean of the target out first (default constant); and a linear model of "
     "number columns, as in 'score + f1..f17'"},
    {0, "unscaled", OPTION_FLAG, NULL, FIELD(unscaled), OF_PROCESSES, 0,
     "keep the target's own scale: kernel values are then in its units squared"},
    {0, "noise", OPTION_TEXT, "V[!]", FIELD(noise), OF_PROCESSES | SAMPLE, 0,
     "variance of the noise, in the target's units squared: where learning starts (default: half "
     "of the target's variance), or with ! its fixed value"},
    {0, "fix", OPTION_LIST, "PATH[,PATH...]", FIELD(fix), OF_PROCESSES, 0,
     "do not learn these: ssk.gap, ssk.weights (all of them), noise, or for labels scale; may be "
     "repeated"},
    {0, "prior", OPTION_PAIRS, "PATH=MEDIAN,SD", FIELD(prior), OF_PROCESSES, 0,
     "draw a hyperparameter, or each of a group such as ssk.weights, towards MEDIAN: log-normal, "
     "SD is that of the logarithm; may be repeated"},
    {0, "journal", OPTION_OUTPUT, "FILE", FIELD(journal), FIT, 0,
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
    {0, "as", OPTION_CHOICE, "text|tsv|json|html", FIELD(as), EXPLAIN | MUTATE | PROPOSE, 0,
     "how to print: for people (default text; of mutate and propose the same as tsv), a line for "
     "each weight, mutation or proposal, an object for each row (as --json), or a page; propose to "
     "-o FILE.html prints one"},
    {0, "color", OPTION_CHOICE, "auto|always|never", FIELD(colour), EXPLAIN, 0,
     "mark words by colour: blue raises the prediction, red lowers it (default auto: on a "
     "terminal, unless NO_COLOR is set); otherwise they are a list"},
    {0, "folds", OPTION_NUMBER, "K", FIELD(folds), CV, 1000000,
     "number of folds, of a shuffle by --seed (default 10)"},
    {0, "fold-by", OPTION_TEXT, "COL", FIELD(fold_by), CV, 0,
     "rows with the same value in this column are a fold"},
    {0, "predictions", OPTION_OUTPUT, "FILE", FIELD(predictions), CV, 0,
     "also write what was predicted for each row: row, target, fold, y, mean, sd; where the "
     "distribution is not normal, also median, lo, hi"},
    {0, "draws", OPTION_NUMBER, "N", FIELD(draws), SAMPLE, 1000000,
     "how many labels to draw for each row (default 1)"},
    {0, "resamples", OPTION_NUMBER, "N", FIELD(resamples), COMPARE, 10000000,
     "how many times rows are drawn anew (default 2000)"},
    {0, "against", OPTION_FILE, "TABLE2", FIELD(against), GRAM, 0,
     "compare the rows of TABLE with those of TABLE2; the result has shape (rows, rows2)"},
    {0, "data", OPTION_FILES, "TABLE", FIELD(data), REPORT, 0,
     "also judge the model on the rows of this table, which has the true values; may be repeated"},
    {0, "title", OPTION_TEXT, "TEXT", FIELD(title), REPORT | SERVE | MUTATE | CHOOSING, 0,
     "the heading of the page (default: Model and the name of its file)"},
    {0, "port", OPTION_NUMBER, "N", FIELD(port), SERVE, 65535,
     "where to listen (default 8080); 0 takes a free one and says which"},
    {0, "host", OPTION_TEXT, "ADDRESS", FIELD(host), SERVE, 0,
     "the address to listen on (default 127.0.0.1: this machine alone)"},
    {0, "allow-host", OPTION_LIST, "NAME", FIELD(allow_host), SERVE, 0,
     "a name by which clients ask for this server, as behind a proxy (default: on the loopback "
     "interface localhost and its addresses, elsewhere any); may be repeated"},
    {0, "log", OPTION_FILE, "FILE", FIELD(log), SERVE, 0,
     "add a line of JSON for each request to this file, which SIGHUP opens again; - is standard "
     "output"},
    {0, "max-body", OPTION_NUMBER, "BYTES", FIELD(max_body), SERVE, UINT32_MAX,
     "the longest request (default 1048576)"},
    {0, "timeout", OPTION_NUMBER, "S", FIELD(timeout), SERVE, 86400,
     "seconds in which a request must have arrived, been answered, and its answer been taken "
     "(default 30)"},
    {0, "with", OPTION_TEXT, "EXPR", FIELD(with), ALIGN, 0, "the other kernel"},
    {0, "center", OPTION_FLAG, NULL, FIELD(center), ALIGN, 0,
     "take the means of rows and columns out of both matrices first"},
    {0, "gradients", OPTION_OUTPUT, "FILE", FIELD(gradients), GRAM, 0,
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
     "worker threads (default 0: all cores); for serve, requests that are computed at the same "
     "time"},
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
     "instruction set: portable, avx2 or avx512; on ARM neon or sve256 (default: the best this CPU "
     "has)"},
    {0, "dropping", OPTION_CHOICE, "auto|on|off", FIELD(dropping), WORKING, 0,
     "skip positions of strings that cannot match (default auto: by a sample of the data)"},
    {0, "vectors", OPTION_FILE, "FILE", FIELD(vectors), READING | SERVE | PROPOSE, 0,
     "word vectors: GloVe, word2vec or fastText, also gzipped; for predict, to find words that "
     "training did not have"},
    {0, "keep-vectors", OPTION_CHOICE, "used|none|all", FIELD(keep_vectors), FIT, 0,
     "which word vectors the model keeps: those of the training words (default); none, then it "
     "predicts with --vectors alone; or all, in a byte a number, so that it finds new words by "
     "itself"},
    {0, "wild-type", OPTION_FILE, "FILE", FIELD(wild_type), FILLED | MUTATE | REPORT | PROPOSE, 0,
     "a FASTA file whose first record is the wild type: cells are mutations of it, such as "
     "A108D:K9R, for every kernel with an argument wild_type that does not give it; for mutate "
     "and report, the sequence to mutate (default: the kernel's own; for report, else the "
     "consensus "
     "of training rows of one length); for propose, the sequence from which mutations are counted"},
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
    {0, "array", OPTION_PAIRS, "NAME=FILE", FIELD(array),
     FILLED | PREDICT | EXPLAIN | REPORT | COMPARE, 0,
     "a .npy file of float32 or float64 beside the tables, with one row for each of theirs; may be "
     "repeated. Kernels of numbers read it by its name, as rbf(NAME). For report, beside --data"},
    {0, "format", OPTION_CHOICE, "tsv|csv|jsonl|conllu|fasta|sst|klp|svmlight", FIELD(format),
     READING | SCAN | CHOOSING, 0, "format of the tables (default: by their extension)"},
    {0, "max-row", OPTION_NUMBER, "BYTES", FIELD(max_row), READING | SCAN | CHOOSING, SIZE_MAX,
     "the longest row of the tables (default 268435456)"},
    {0, "where", OPTION_PAIRS, "COL=VALUE[,VALUE...]", FIELD(where), READING | PROPOSE, 0,
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

_Static_assert(sizeof option_table / sizeof *option_table <= MOST_OPTIONS, "too many options");

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
