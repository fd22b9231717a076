"""Texts and numbers together: the price of a thing by its description, size and age."""

import numpy as np

import luthier as lt

rng = np.random.default_rng(1)
nouns = {"chair": 40, "table": 90, "lamp": 30, "desk": 110}
states = {"as new": 1.0, "with scratches": 0.7, "not working": 0.2}
rows = [(noun, state) for noun in nouns for state in states for _ in range(5)]
text = [f"{noun}, {state}" for noun, state in rows]
features = np.column_stack([rng.uniform(0.5, 2, len(rows)), rng.uniform(0, 10, len(rows))])
price = np.array([nouns[n] * states[s] for n, s in rows]) * np.sqrt(features[:, 0])
price += -2 * features[:, 1] + rng.normal(0, 3, len(rows))

X = {"text": text, "f": features}  # the array's columns are f1 and f2
for kernel in ("ssk(text, units=tokens, order=2)", "rbf(f*, ard=yes)",
               "ssk(text, units=tokens, order=2) * rbf(f*, ard=yes) + linear(f*)"):
    model = lt.GPRegressor(kernel, restarts=2).fit(X, price)
    print(f"{kernel}: log evidence {model.log_evidence_:.1f}, leave-one-out r "
          f"{model.leave_one_out_['r']:.3f}")

mean, sd = model.predict({"text": ["lamp, as new"], "f": np.array([[1.0, 2.0]])}, return_std=True)
print(f"a new lamp, two years old: {mean[0]:.0f} +- {sd[0]:.0f}")
model.kernel_  # with everything it learned
assert model.leave_one_out_["r"] > 0.9
