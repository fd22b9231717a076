# kernlab's string kernel, length 100, order 5, 100 x 100 matrix: prints name, tab, seconds.
suppressMessages(if (!requireNamespace("kernlab", quietly = TRUE)) quit(status = 77))
set.seed(1)
strings <- as.list(replicate(100, paste(sample(c(letters, LETTERS), 100, TRUE), collapse = "")))
kernel <- kernlab::stringdot(type = "sequence", length = 5, lambda = 0.5, normalized = FALSE)
seconds <- system.time(kernlab::kernelMatrix(kernel, strings))[["elapsed"]]
cat(sprintf("R kernlab %s, stringdot(type=\"sequence\"), value\t%.4g\n",
            packageVersion("kernlab"), seconds))
