"""A fitted model in words: what ``luthier show`` prints."""

import math

from ._library import lib


def number(value):
    """The shortest text that reads back as the same number, as the command line writes it."""
    if math.isnan(value):
        return "nan"
    return next(text for digits in (15, 16, 17)
                if float(text := f"{value:.{digits}g}") == value)


def text_of(model):
    pointer = model._pointer
    lines = [model.kernel_.expression]
    lines += _gp(pointer, model) if model._api == "gp" else _svm(pointer)
    return "\n".join(lines) + "\n"


def _params(model):
    yield "\nparameter\tvalue\tstart\tstate"
    for p in model._params():
        state = "held" if p.held else "learned"
        state += f", tied ${p.tag.decode()}" if p.tag else ""
        state += ", at bound" if p.at_bound else ""
        yield f"{p.path.decode()}\t{number(p.value)}\t{number(p.start)}\t{state}"


def _posterior(r):
    lines = []
    if 0 < r.learned_rows < r.rows:
        lines.append(f"rows learned from\t{r.learned_rows}")
    if r.posterior > 3:
        lines.append("posterior\t" + ("laplace", "sites")[r.posterior - 4])
    if r.posterior == 2:
        lines += ["posterior\tcg", f"steps of cg\t{r.cg_steps}",
                  f"residual of cg\t{number(r.cg_residual)}",
                  f"standard error of log evidence\t{number(r.evidence_error)}"]
    if r.posterior == 3:
        lines += ["posterior\tinducing", f"inducing rows\t{r.inducing}",
                  f"variance left\t{number(r.trace_left)}",
                  f"variance left to noise\t{number(r.left_to_noise)}"]
    return lines


def _mean(pointer, model):
    classes = lib.lth_gp_classes(pointer)
    names = ([lib.lth_gp_class(pointer, i).name.decode() for i in range(classes)] or
             [lib.lth_gp_target(pointer, i).decode() for i in range(lib.lth_gp_targets(pointer))])
    found = [(name, model.mean_weights(i)) for i, name in enumerate(names)]
    if not found[0][1]["columns"]:
        return
    yield "\nmean\tof\tweight\tsd\tper deviation\tits sd"
    for name, mean in found:
        for column, w in mean["columns"].items():
            cells = (w["weight"], w["sd"], w["weight"] * w["deviation"], w["sd"] * w["deviation"])
            yield "\t".join([column, name, *map(number, cells)])
    yield "\nthe mean explains\tshare"
    for name, mean in found:
        yield f"{name}\t{number(mean['share'])}"


def _likelihood(pointer, model):
    """Of numbers; normal noise goes without saying."""
    if model.likelihood_ == "gaussian":
        return
    yield f"likelihood\t{model.likelihood_}"
    if model.warp_:
        yield f"warp\t{model.warp_}"
    if exposure := lib.lth_gp_exposure(pointer):
        yield f"exposure\t{exposure.decode()}"
    if model.grades_ is not None:
        yield "\t".join(["grades", *map(number, model.grades_)])


def _gp(pointer, model):
    r = lib.lth_gp_reported(pointer)
    lines = list(_params(model))
    if r.orders:
        lines.append("\norder\tnu\tshare")
        lines += [f"{i + 1}\t{number(r.nu[i])}\t{number(r.order_share[i])}"
                  for i in range(r.orders)]
    if model.symbols_:
        lines.append("\nsymbol\tkernel\tdecay\talpha\tnodes")
        lines += [f"{s['symbol']}\t{s['kernel']}\t{number(s['decay'])}\t{number(s['alpha'])}\t"
                  f"{s['nodes']}" for s in model.symbols_]
    lines += _mean(pointer, model)
    lines.append("\nlearning\tvalue")
    lines += [f"target\t{lib.lth_gp_target(pointer, i).decode()}"
              for i in range(lib.lth_gp_targets(pointer))]
    lines.append(f"rows\t{r.rows}")
    lines += _posterior(r)
    lines.append(f"log evidence\t{number(r.evidence)}")
    classes = lib.lth_gp_classes(pointer)
    if classes:
        name = lib.lth_likelihood_name(lib.lth_gp_likelihood(pointer))
        lines.append(f"likelihood\t{name.decode()}")
        lines.append("labels\t" + ("several a row" if lib.lth_gp_is_multi_label(pointer)
                                   else "one a row"))
        if r.sharpness:
            lines += [f"sharpness\t{number(r.sharpness)}",
                      f"leave-one-out log loss\t{number(r.left_out_loss)}",
                      "leave-one-out log loss, not sharpened\t"
                      f"{number(r.left_out_loss_plain)}"]
    else:
        lines += _likelihood(pointer, model)
        if r.noise > 0:
            lines.append(f"noise\t{number(r.noise)}")
        if r.loo:
            lines += [f"leave-one-out {name}\t{number(getattr(r.loo.contents, name))}"
                      for name in ("r", "nlpd", "coverage")]
    if r.jitter > 0:
        lines.append(f"jitter\t{number(r.jitter)}")
    ended = "interrupted" if r.interrupted else "converged" if r.converged else "not converged"
    lines += [f"ended\t{ended}", f"starts\t{r.starts}", f"iterations\t{r.iterations}",
              f"evaluations\t{r.evaluations}", f"seconds\t{r.seconds:.3f}"]
    if classes:
        lines.append("\nclass\trows")
        for i in range(classes):
            c = lib.lth_gp_class(pointer, i)
            lines.append(f"{c.name.decode()}\t{c.rows}")
    return lines


def _svm(pointer):
    r = lib.lth_svm_reported(pointer)
    lines = ["\nlearning\tvalue", f"target\t{lib.lth_svm_target(pointer).decode()}",
             f"type\t{r.type.decode()}"]
    lines += [f"{name}\t{number(value)}" for name in ("C", "epsilon", "nu")
              if not math.isnan(value := getattr(r, name))]
    if r.classes > 2 or r.multi_label:
        how = ("one for each label" if r.multi_label else
               "each class against the rest" if r.one_vs_rest else "in pairs")
        lines.append(f"problems\t{r.problems}, {how}")
    if r.linear:
        lines += ["solver\tlinear", f"weights\t{r.weights}"]
    if r.features:
        lines.append("solver\tfeatures")
    if not r.regression:
        lines.append("probabilities\t" + ("yes" if r.probability else "no"))
    lines += [f"rows\t{r.rows}", f"support rows\t{r.support}"]
    if r.points > 1:
        lines += [f"inner folds\t{r.inner_folds}", f"inner {r.score.decode()}\t{number(r.inner)}"]
    lines.append(f"seconds\t{r.seconds:.3f}")
    if r.classes:
        lines.append("\nclass\trows\tsupport")
        for i in range(r.classes):
            c = lib.lth_svm_class_at(pointer, i)
            lines.append(f"{c.name.decode()}\t{c.rows}\t{c.support}")
    if r.points > 1:
        lines.append(f"\nkernel\tC\tepsilon\tnu\t{r.score.decode()}")
        for i in range(r.points):
            p = lib.lth_svm_point_at(pointer, i)
            cells = ["-" if math.isnan(v) else number(v) for v in (p.C, p.epsilon, p.nu, p.score)]
            lines.append("\t".join([p.kernel.decode(), *cells]))
    return lines
