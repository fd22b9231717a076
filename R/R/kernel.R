# Kernels: expressions, their parameters, and matrices of similarities.

context <- function(threads = NULL, seed = 1, precision = "double") {
    if (is.null(threads)) threads <- 0
    .Call(r_context, as.integer(threads), as.double(seed), precision == "single")
}

lth_version <- function() .Call(r_version)

lth_kernel <- function(expression) {
    if (inherits(expression, "lth_kernel")) return(expression)
    if (!is.character(expression) || length(expression) != 1 || is.na(expression))
        stop("a kernel is one expression, such as \"normalize(ssk(text))\"", call. = FALSE)
    handle <- tryCatch(.Call(r_kernel, context(1), expression),
                       error = function(e) stop(mark(expression, conditionMessage(e)), call. = FALSE))
    numeric <- .Call(r_kernel_numeric, handle)
    columns <- .Call(r_kernel_columns, handle)
    params <- .Call(r_kernel_params, handle)
    structure(list(expression = .Call(r_kernel_text, handle),
                   columns = stats::setNames(numeric, columns),
                   parameters = data.frame(path = params[[1]], value = params[[2]], lower = params[[3]],
                                           upper = params[[4]], held = params[[5]])),
              class = "lth_kernel")
}

# The message with a mark under the character that it is about.
mark <- function(expression, message) {
    at <- regmatches(message, regexec(" \\(character ([0-9]+)\\)$", message))[[1]]
    if (length(at) == 0) return(message)
    paste0(sub(" \\(character [0-9]+\\)$", "", message), "\n  ", expression, "\n  ",
           strrep(" ", as.integer(at[2]) - 1), "^")
}

parameters <- function(x) lth_kernel(x)$parameters

as.character.lth_kernel <- function(x, ...) x$expression

print.lth_kernel <- function(x, ...) {
    cat(x$expression, "\n\n", sep = "")
    print(x$parameters, row.names = FALSE, ...)
    invisible(x)
}

gram <- function(kernel, x, y = NULL, gradients = FALSE, vectors = NULL, threads = NULL,
                 precision = c("double", "single")) {
    kernel <- lth_kernel(kernel)
    rows <- kernel_columns(kernel, x, "x")
    others <- if (is.null(y)) NULL else kernel_columns(kernel, y, "y")
    handle <- .Call(r_encode, context(threads, precision = match.arg(precision)), kernel$expression, rows,
                    others, file_name(vectors, "vectors"))
    n <- length(rows[[1]])
    m <- if (is.null(others)) n else length(others[[1]])
    names <- list(row_names(x, n), row_names(if (is.null(y)) x else y, m))
    K <- matrix(.Call(r_gram, handle, FALSE), n, m, byrow = TRUE, dimnames = names)
    if (!gradients) return(for_kernlab(K))
    paths <- .Call(r_encoded_params, handle)
    dK <- aperm(array(.Call(r_gram, handle, TRUE), c(m, n, length(paths))), c(2, 1, 3))
    dimnames(dK) <- c(names, list(paths))
    list(K = for_kernlab(K), gradients = dK)
}

# kernlab knows a matrix of similarities by its class; for all others it is a matrix.
for_kernlab <- function(K) if (requireNamespace("kernlab", quietly = TRUE)) kernlab::as.kernelMatrix(K) else K
