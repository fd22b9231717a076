# Models: what they are, their files, and predictions.
#
# A model holds its bytes, so that saveRDS() and a saved workspace keep it; the object of the C library is made of them again
# when it is needed.

new_model <- function(handle, ...) {
    facts <- .Call(r_model_facts, handle)
    model <- list(kernel = lth_kernel(.Call(r_model_kernel, handle)), targets = .Call(r_model_targets, handle),
                  classes = .Call(r_model_classes, handle), rows = facts[2], bytes = .Call(r_model_bytes, handle),
                  live = new.env(), ...)
    model$live$handle <- handle
    class(model) <- c(if (facts[1] == 1) "lth_gp" else "lth_svm", "lth_model")
    model
}

handle_of <- function(model) {
    if (!is_live(model$live$handle)) {
        model$live$handle <- .Call(r_model_from, context(), model$bytes)
        if (!is.null(model$vectors)) .Call(r_model_use_vectors, model$live$handle, file_name(model$vectors, "vectors"))
    }
    model$live$handle
}

is_live <- function(handle) !is.null(handle) && !identical(handle, methods::new("externalptr"))

lth_save <- function(model, path) {
    if (!inherits(model, "lth_model")) stop("lth_save() wants a model", call. = FALSE)
    .Call(r_model_save, handle_of(model), file_name(path, "path"))
    invisible(model)
}

lth_load <- function(path, vectors = NULL, threads = NULL) {
    handle <- .Call(r_model_load, context(threads), file_name(path, "path"))
    if (!is.null(vectors)) .Call(r_model_use_vectors, handle, file_name(vectors, "vectors"))
    new_model(handle, vectors = vectors)
}

print.lth_model <- function(x, ...) {
    what <- if (inherits(x, "lth_gp")) "Gaussian process" else "Support vector machine"
    of <- if (length(x$classes) > 0) paste(length(x$classes), "classes") else paste(x$targets, collapse = ", ")
    cat(what, " of ", of, ", ", x$rows, " rows\n", x$kernel$expression, "\n", sep = "")
    invisible(x)
}

summary.lth_model <- function(object, ...) {
    handle <- handle_of(object)
    out <- list(model = object)
    if (inherits(object, "lth_gp")) {
        p <- .Call(r_gp_params, handle)
        out$parameters <- data.frame(parameter = p[[1]], value = p[[2]], start = p[[3]], held = p[[4]])
        if (any(!is.nan(p[[5]]))) out$parameters[c("low", "high")] <- p[5:6]
        figures <- .Call(r_gp_report, handle)
        out$fit <- stats::setNames(figures[1:5], c("evidence", "iterations", "evaluations", "seconds", "converged"))
        if (length(figures) > 5) out$left_out <- stats::setNames(figures[6:9], c("rmse", "mae", "r", "coverage"))
    } else {
        r <- .Call(r_svm_report, handle)
        out$type <- r[[1]]
        out$fit <- stats::setNames(r[[2]], c("C", "epsilon", "nu", "inner", "support", "seconds"))
    }
    structure(out, class = "summary.lth_model")
}

print.summary.lth_model <- function(x, ...) {
    print(x$model)
    if (!is.null(x$parameters)) {
        cat("\n")
        print(x$parameters, row.names = FALSE, ...)
        cat("\nlog evidence ", format(x$fit[["evidence"]]), ", ", x$fit[["iterations"]], " iterations, ",
            format(x$fit[["seconds"]], digits = 2), " s\n", sep = "")
        if (!is.null(x$left_out)) {
            cat("leave-one-out:\n")
            print(x$left_out, ...)
        }
    } else {
        cat("\n", x$type, ", ", x$fit[["support"]], " support rows\n", sep = "")
        print(x$fit[!is.nan(x$fit) & names(x$fit) %in% c("C", "epsilon", "nu", "inner")], ...)
    }
    invisible(x)
}

# ---- Predictions ----

# The exposure of new rows is given, or a column of them.
new_rows <- function(model, newdata, exposure = NULL) {
    columns <- kernel_columns(model$kernel, newdata, "newdata")
    name <- .Call(r_gp_exposure, handle_of(model))
    if (!is.na(name)) {
        if (is.null(exposure) && is.data.frame(newdata)) exposure <- newdata[[name]]
        columns[[name]] <- per_row(exposure, length(columns[[1]]), "exposure")
    }
    columns
}

# Labels as y had them.
as_labels <- function(model, names) {
    if (isTRUE(model$logical)) return(as.logical(names))
    factor(names, levels = if (is.null(model$levels)) model$classes else model$levels)
}

by_class <- function(model, values) {
    out <- t(values)
    colnames(out) <- model$classes
    if (!is.null(model$levels)) out <- out[, intersect(model$levels, model$classes), drop = FALSE]
    out
}

predict.lth_gp <- function(object, newdata, type = c("response", "probabilities"), se.fit = FALSE,
                           interval = c("none", "prediction"), level = 0.95, exposure = NULL, ...) {
    type <- match.arg(type)
    interval <- match.arg(interval)
    columns <- new_rows(object, newdata, exposure)
    if (length(object$classes) > 0) {
        p <- by_class(object, .Call(r_gp_classify, handle_of(object), columns))
        return(if (type == "probabilities") p else as_labels(object, colnames(p)[max.col(p, ties.method = "first")]))
    }
    if (type == "probabilities") stop("this model is of numbers: it has no probabilities", call. = FALSE)
    if (!(level > 0 && level < 1)) stop("level wants a number between 0 and 1", call. = FALSE)
    found <- lapply(.Call(r_gp_predict, handle_of(object), columns, as.double(level)), function(values) {
        if (ncol(values) == 1) return(values[, 1])
        colnames(values) <- object$targets
        values
    })
    fit <- if (interval == "none") found[[1]] else if (is.matrix(found[[1]]))
        list(fit = found[[1]], lwr = found[[3]], upr = found[[4]]) else
        cbind(fit = found[[1]], lwr = found[[3]], upr = found[[4]])
    if (se.fit) list(fit = fit, se.fit = found[[2]]) else fit
}

predict.lth_svm <- function(object, newdata, type = c("response", "probabilities", "decision"), ...) {
    type <- match.arg(type)
    found <- .Call(r_svm_predict, handle_of(object), new_rows(object, newdata), type == "probabilities")
    if (length(object$classes) == 0) {
        if (type == "probabilities") stop("this model is of numbers: it has no probabilities", call. = FALSE)
        return(found[[1]])
    }
    switch(type, response = as_labels(object, object$classes[found[[1]]]),
           probabilities = by_class(object, found[[3]]),
           decision = if (nrow(found[[2]]) == 1) found[[2]][1, ] else by_class(object, found[[2]]))
}

# ---- Looking at a model ----

left_out <- function(model) {
    rows <- .Call(r_gp_left_out, handle_of(model))
    data.frame(y = rows[[1]], mean = rows[[2]], sd = rows[[3]])
}

residuals.lth_gp <- function(object, ...) {
    if (length(object$classes) > 0) stop("a classifier has no residuals", call. = FALSE)
    rows <- left_out(object)
    rows$y - rows$mean
}

plot.lth_gp <- function(x, newdata = NULL, y = NULL, main = NULL, ...) {
    if (length(x$classes) > 0) return(plot_classes(x, newdata, y, predict(x, need(newdata), "probabilities"), main, ...))
    rows <- if (is.null(newdata)) left_out(x) else {
        p <- predict(x, newdata, se.fit = TRUE)
        data.frame(y = y, mean = p$fit, sd = p$se.fit)
    }
    half <- stats::qnorm(0.975) * rows$sd
    graphics::plot(rows$mean, rows$y, xlim = range(rows$mean - half, rows$mean + half), pch = 19,
                   xlab = "predicted, with 95% interval", ylab = x$targets[1],
                   main = if (is.null(main)) (if (is.null(newdata)) "each row predicted by the others" else "predictions") else main,
                   ...)
    graphics::segments(rows$mean - half, rows$y, rows$mean + half, rows$y, col = "grey60")
    graphics::points(rows$mean, rows$y, pch = 19)
    graphics::abline(0, 1, lty = 2)
    invisible(rows)
}

plot.lth_svm <- function(x, newdata = NULL, y = NULL, main = NULL, ...) {
    if (length(x$classes) > 0) {
        d <- predict(x, need(newdata), "decision")
        d <- if (is.matrix(d)) d else matrix(d, dimnames = list(NULL, x$classes[2]))
        return(plot_classes(x, newdata, y, d, main, ...))
    }
    fit <- predict(x, need(newdata))
    graphics::plot(fit, y, xlab = "predicted", ylab = x$targets[1], pch = 19, main = main, ...)
    graphics::abline(0, 1, lty = 2)
    invisible(data.frame(y = y, fit = fit))
}

need <- function(newdata) if (is.null(newdata)) stop("plot() of this model wants rows and their y", call. = FALSE) else newdata

# A panel for each class: what rows of each true class got.
plot_classes <- function(x, newdata, y, values, main, ...) {
    if (length(y) != nrow(values)) stop("plot() wants a y for each row of newdata", call. = FALSE)
    old <- graphics::par(mfrow = grDevices::n2mfrow(ncol(values)))
    on.exit(graphics::par(old))
    for (class in colnames(values))
        graphics::boxplot(values[, class] ~ factor(y), xlab = "label", ylab = class, main = main, ...)
    invisible(values)
}
