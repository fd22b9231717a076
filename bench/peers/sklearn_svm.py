"""scikit-learn's linear support vector machines on the words of Reuters-21578, ModApte split, ten
topics: prints name, tab, seconds from the unpacked table to the predicted labels, tab, micro F1, tab,
macro F1. Argument: the folder of reuters_modapte.tsv.gz. Exits with 77 when something is not there."""
import gzip
import os
import sys
import time

try:
    import sklearn
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.metrics import f1_score
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.preprocessing import MultiLabelBinarizer
    from sklearn.svm import LinearSVC
except ImportError:
    sys.exit(77)

path = os.path.join(sys.argv[1], "reuters_modapte.tsv.gz")
if not os.path.exists(path):
    sys.exit(77)
with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
    text = file.read()
topics = "earn acq money-fx grain crude trade interest ship wheat corn".split()


def run():
    rows = [line.split("\t") for line in text.rstrip("\n").split("\n")][1:]
    train, test = ([row for row in rows if row[1] == split] for split in ("train", "test"))
    binarizer = MultiLabelBinarizer(classes=topics).fit([topics])
    truth, wanted = (binarizer.transform([[t for t in row[2].split(",") if t in topics]
                                          for row in part]) for part in (train, test))
    vectorizer = TfidfVectorizer(sublinear_tf=True)
    features = vectorizer.fit_transform([row[3] for row in train])
    model = OneVsRestClassifier(LinearSVC()).fit(features, truth)
    return wanted, model.predict(vectorizer.transform([row[3] for row in test]))


seconds = float("inf")
for _ in range(3):
    start = time.perf_counter()
    wanted, predicted = run()
    seconds = min(seconds, time.perf_counter() - start)
scores = [f1_score(wanted, predicted, average=how) for how in ("micro", "macro")]
print(f"scikit-learn {sklearn.__version__}\t{seconds:.4g}\t{scores[0]:.4f}\t{scores[1]:.4f}")
