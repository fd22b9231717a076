# What rows can be: texts, a data frame, or a matrix of numbers; and the columns of them that a kernel reads.

# f1..f3 as f1, f2, f3.
expand <- function(columns) {
    unlist(lapply(columns, function(name) {
        ends <- regmatches(name, regexec("^(.*?)([0-9]+)\\.\\.(.*?)([0-9]+)$", name, perl = TRUE))[[1]]
        if (length(ends) == 0) name else paste0(ends[2], seq(as.integer(ends[3]), as.integer(ends[5])))
    }))
}

kernel_columns <- function(kernel, x, what) {
    wanted <- kernel$columns
    columns <- split_rows(x, expand(names(wanted)), what)
    numeric <- unlist(Map(function(name, is_number) stats::setNames(rep(is_number, length(expand(name))), expand(name)),
                          names(wanted), unname(wanted)), use.names = TRUE)
    names(numeric) <- expand(names(wanted))
    lapply(stats::setNames(names(columns), names(columns)),
           function(name) check_column(columns[[name]], numeric[[name]], name, what))
}

split_rows <- function(x, wanted, what) {
    if (length(wanted) == 0) stop("this kernel reads no column", call. = FALSE)
    if (is.data.frame(x)) {
        missing <- setdiff(wanted, names(x))
        if (length(missing) > 0) stop(no_column(missing[1], names(x), what), call. = FALSE)
        return(as.list(x[wanted]))
    }
    if (is.matrix(x) && is.numeric(x)) {
        if (is.null(colnames(x))) colnames(x) <- paste0("f", seq_len(ncol(x)))
        return(split_rows(as.data.frame(x), wanted, what))
    }
    if (!is.atomic(x)) stop(what, " wants texts, a data frame or a matrix of numbers", call. = FALSE)
    if (length(wanted) > 1)
        stop("the kernel reads ", length(wanted), " columns (", paste(wanted, collapse = ", "), "): ", what,
             " wants a data frame", call. = FALSE)
    stats::setNames(list(x), wanted)
}

no_column <- function(name, there, what) {
    near <- there[utils::adist(name, there) <= max(1, nchar(name) %/% 3)]
    hint <- if (length(near) > 0) paste0("; did you mean \"", near[1], "\"?") else
        paste0("; there are: ", paste(there, collapse = ", "))
    paste0(what, " has no column \"", name, "\"", hint)
}

check_column <- function(values, is_number, name, what) {
    if (is.factor(values)) values <- as.character(values)
    place <- paste0(what, ", column \"", name, "\"")
    if (anyNA(values)) stop(place, ", row ", which(is.na(values))[1], ": NA", call. = FALSE)
    if (!is_number) return(enc2utf8(as.character(values)))
    if (!is.numeric(values)) stop(place, " wants numbers", call. = FALSE)
    as.double(values)
}

row_names <- function(x, count) {
    if (is.data.frame(x)) return(NULL)
    if (is.matrix(x)) return(rownames(x))
    names(x)
}

file_name <- function(path, what) {
    if (is.null(path)) return(NULL)
    if (!is.character(path) || length(path) != 1) stop(what, " wants the path of a file", call. = FALSE)
    path.expand(path)
}
