# Learning: gp() and svm(), of rows and targets, or by a formula.

gp <- function(x, ...) UseMethod("gp")
svm <- function(x, ...) UseMethod("svm")

gp.formula <- function(x, data, ...) {
    parts <- read_formula(x, data)
    fit <- gp.default(parts$kernel, data, parts$y, ..., target = parts$target)
    fit$call <- match.call()
    fit
}

svm.formula <- function(x, data, ...) {
    parts <- read_formula(x, data)
    fit <- svm.default(parts$kernel, data, parts$y, ..., target = parts$target)
    fit$call <- match.call()
    fit
}

# score ~ normalize(ssk(text, order = 2)): the right side is the kernel.
read_formula <- function(formula, data) {
    if (length(formula) != 3) stop("a formula wants a target: score ~ ssk(text)", call. = FALSE)
    if (missing(data) || !is.data.frame(data)) stop("data wants a data frame", call. = FALSE)
    kernel <- paste(deparse(formula[[3]], width.cutoff = 500L), collapse = " ")
    targets <- all.vars(formula[[2]])
    missing <- setdiff(targets, names(data))
    if (length(missing) > 0) stop(no_column(missing[1], names(data), "data"), call. = FALSE)
    y <- eval(formula[[2]], data, environment(formula))
    list(kernel = kernel, y = y, target = paste(deparse(formula[[2]]), collapse = " "))
}

gp.default <- function(x, rows, y, likelihood = NULL, restarts = 4, max_iter = 200, learn = TRUE, noise = NULL,
                       fix = NULL, prior = NULL, mean = NULL, warp = NULL, lower = NULL, upper = NULL,
                       posterior = NULL, inducing = NULL, learn_rows = NULL, intervals = FALSE, weights = NULL,
                       exposure = NULL, vectors = NULL, threads = NULL, seed = 1, target = "y", ...) {
    no_more(...)
    task <- begin(x, rows, y, target, mean)
    known <- list(weights = weights, exposure = exposure)
    known <- known[!vapply(known, is.null, logical(1))]
    for (name in names(known)) task$columns[[paste0(".", name)]] <- per_row(known[[name]], task$rows, name)
    options <- list(likelihood = likelihood, restarts = restarts, max_iter = max_iter, learn = learn, noise = noise,
                    fix = fix, prior = prior, mean = mean, warp = warp, lower = lower, upper = upper,
                    posterior = posterior, inducing = inducing, learn_rows = learn_rows, intervals = intervals,
                    vectors = file_name(vectors, "vectors"), labels = task$labels,
                    weights = if (!is.null(weights)) ".weights", exposure = if (!is.null(exposure)) ".exposure")
    handle <- .Call(r_gp_fit, context(threads, seed), task$kernel$expression, task$columns, task$targets,
                    options)
    fitted_model(handle, task, vectors, match.call())
}

svm.default <- function(x, rows, y, C = 1, epsilon = 0.1, nu = NULL, grid = NULL, inner_folds = 3,
                        probability = FALSE, class_weights = NULL, vectors = NULL, threads = NULL, seed = 1,
                        target = "y", ...) {
    no_more(...)
    task <- begin(x, rows, y, target)
    if (length(task$targets) > 1) stop("a support vector machine has one target", call. = FALSE)
    if (is.numeric(class_weights)) class_weights <- paste0(names(class_weights), "=", class_weights, collapse = ",")
    set <- if (!is.null(grid)) vapply(names(grid), function(path)
        paste0(path, "=", paste(format(grid[[path]], digits = 15, trim = TRUE), collapse = ",")), "")
    options <- list(C = as.double(C), epsilon = as.double(epsilon), nu = if (!is.null(nu)) as.double(nu),
                    nu_svm = !is.null(nu), set = unname(set), inner_folds = inner_folds, probability = probability,
                    class_weights = class_weights, vectors = file_name(vectors, "vectors"), labels = task$labels)
    handle <- .Call(r_svm_fit, context(threads, seed), task$kernel$expression, task$columns, task$targets,
                    options)
    fitted_model(handle, task, vectors, match.call())
}

no_more <- function(...) {
    more <- names(list(...))
    if (...length() > 0) stop("there is no argument ", if (is.null(more)) "without a name" else dQuote(more[1], FALSE), " here",
                              call. = FALSE)
}

# Kernel, columns and targets of a fit. A factor, text or logical y has labels.
begin <- function(kernel, rows, y, target, mean = NULL) {
    kernel <- lth_kernel(kernel)
    columns <- kernel_columns(kernel, rows, "x")
    count <- length(columns[[1]])
    labels <- is.factor(y) || is.character(y) || is.logical(y)
    ys <- if (is.matrix(y) || is.data.frame(y)) as.data.frame(y) else stats::setNames(list(y), target)
    for (name in names(ys)) {
        if (length(ys[[name]]) != count)
            stop("there are ", count, " rows and ", length(ys[[name]]), " targets", call. = FALSE)
        if (name %in% names(columns)) stop("the kernel reads the target \"", name, "\"", call. = FALSE)
        columns[[name]] <- check_column(ys[[name]], !labels, name, "y")
    }
    for (name in mean_columns(mean)) if (is.null(columns[[name]]))
        columns[[name]] <- check_column(split_rows(rows, name, "x")[[1]], TRUE, name, "x")
    list(kernel = kernel, columns = columns, targets = names(ys), labels = labels, rows = count,
         levels = if (is.factor(y)) levels(y), logical = is.logical(y))
}

# zs + f1..f3 + constant: the columns among them.
mean_columns <- function(mean) {
    if (is.null(mean)) return(character(0))
    setdiff(expand(trimws(strsplit(mean, "+", fixed = TRUE)[[1]])), c("zero", "constant", ""))
}

per_row <- function(values, count, name) {
    if (!is.numeric(values) || length(values) != count || anyNA(values))
        stop(name, " wants a number for each of the ", count, " rows", call. = FALSE)
    as.double(values)
}

fitted_model <- function(handle, task, vectors, call) {
    new_model(handle, call = call, vectors = vectors, levels = task$levels, logical = isTRUE(task$logical))
}
