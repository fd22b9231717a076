"""Word strings: scores of short reviews, where "not" turns the meaning around."""

import numpy as np

import luthier as lt

things = "film book song play show game poem tale".split()
scores = {"good": 7.5, "bad": 2.0, "not good": 3.0, "not bad": 7.0}
texts = [f"the {thing} was {words}" for thing in things for words in scores]
rng = np.random.default_rng(1)
y = np.array([scores[words] for _ in things for words in scores]) + rng.normal(0, 0.5, len(texts))

for order in (1, 2):
    model = lt.GPRegressor(f"ssk(text, order={order})").fit(texts, y)
    print(f"order {order}: log evidence {model.log_evidence_:.1f}, "
          f"leave-one-out r {model.leave_one_out_['r']:.2f}")

new = ["the opera was not bad", "the opera was not good", "we were late"]
mean, sd = model.predict(new, return_std=True)
for text, m, s in zip(new, mean, sd):
    print(f"{text}: {m:.1f} +- {s:.1f}")

# Pairs of words tell what single words cannot.
assert model.order_shares_[1] > 0.9
assert mean[0] > 5 > mean[1]
