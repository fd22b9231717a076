"""scikit-learn's Gaussian process on the headlines' mean word vectors, one target (joy), no restarts:
prints name, tab, seconds to the optimum, tab, log evidence in the target's units. Arguments: the
folder of semeval2007.tsv and glove_subset_100d.txt.gz. Exits with 77 when something is not there."""
import csv
import gzip
import os
import sys
import time
import warnings

try:
    import numpy as np
    import sklearn
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
except ImportError:
    sys.exit(77)

warnings.filterwarnings("ignore")  # a parameter at its bound
table, vectors = (os.path.join(sys.argv[1], name)
                  for name in ("semeval2007.tsv", "glove_subset_100d.txt.gz"))
if not (os.path.exists(table) and os.path.exists(vectors)):
    sys.exit(77)

with open(table, encoding="utf-8", newline="") as file:
    rows = [row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            if row["fold"] != "0"]
texts = [row["tokens"].lower().split() for row in rows]
words = {word for text in texts for word in text}
with gzip.open(vectors, "rt", encoding="utf-8") as file:
    lines = (line.rstrip("\n").split(" ") for line in file)
    known = {line[0]: np.array(line[1:], float) for line in lines if line[0] in words}

X = np.zeros((len(texts), 100))
for i, text in enumerate(texts):
    found = [known[word] for word in text if word in known]
    if found:
        X[i] = np.mean(found, axis=0)
y = np.array([float(row["joy"]) for row in rows])

kernel = ConstantKernel() * RBF() + WhiteKernel()
seconds = float("inf")
for _ in range(3):
    model = GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=0)
    start = time.perf_counter()
    model.fit(X, y)
    seconds = min(seconds, time.perf_counter() - start)
evidence = model.log_marginal_likelihood_value_ - len(y) * np.log(y.std())
print(f"scikit-learn {sklearn.__version__}\t{seconds:.4g}\t{evidence:.6f}")
