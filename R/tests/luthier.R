# What is checked here can fail: exact values, equal results on every way to them, and what is said of mistakes.
library(luthier)

says <- function(expression, pattern) {
    message <- tryCatch({ force(expression); "no error" }, error = conditionMessage)
    if (!grepl(pattern, message)) stop("expected \"", pattern, "\", got: ", message)
}
close_to <- function(a, b, tolerance = 1e-8) stopifnot(isTRUE(all.equal(a, b, tolerance = tolerance, check.attributes = FALSE)))

things <- c("film", "book", "song", "play", "show", "game")
films <- data.frame(
    text = paste("the", things, "was", rep(c("good", "bad", "not good", "not bad"), each = 6)),
    score = c(7.5, 8, 6.5, 7, 8.5, 7, 2.5, 3.5, 2, 3, 3, 1.5, 3, 2, 3.5, 1.5, 2.5, 2, 8, 6.5, 7, 7.5, 7, 6.8))
label <- factor(ifelse(films$score > 5, "glad", "cross"), levels = c("glad", "cross"))

# Lodhi's example: k(cat, car) = l^4 at order 2, normalised 1 / (2 + l^2).
lodhi <- "normalize(ssk(text, units=chars, order=2, gap=0.5, match=0.5, weights=[0,1]))"
K <- gram(lodhi, c(cat = "cat", car = "car"))
close_to(K[1, 2], 1 / (2 + 0.25))
stopifnot(identical(dimnames(K), list(c("cat", "car"), c("cat", "car"))))

# A rectangle is a part of the whole, whatever R keeps together, for values and derivatives, of texts and numbers.
k <- "ssk(text, order=2)"
whole <- gram(k, films$text, gradients = TRUE)
part <- gram(k, films$text[1:3], films$text[4:8], gradients = TRUE)
close_to(as.numeric(part$K), as.numeric(whole$K[1:3, 4:8]))
close_to(part$gradients, whole$gradients[1:3, 4:8, ])
stopifnot(identical(dimnames(part$gradients)[[3]], parameters(k)$path))
step <- 1e-6
up <- gram("ssk(text, order=2, gap=0.500001)", films$text[1:3])
down <- gram("ssk(text, order=2, gap=0.499999)", films$text[1:3])
close_to((up - down) / (2 * step), whole$gradients[1:3, 1:3, "ssk.gap"], 1e-6)
f <- cbind(c(1, 2, 4), c(0, 1, 1))
close_to(gram("linear(f1..f2)", f)[2, 3], sum(f[2, ] * f[3, ]))
close_to(gram("linear(b)", data.frame(a = letters[1:3], b = 1:3))[2, 3], 6)

# The same model by formula, by rows, from its file, from an RDS file, on one thread.
m <- gp(score ~ ssk(text, order = 2), data = films)
new <- c("the poem was not bad", "we were late", "the game was good")
p <- predict(m, new, se.fit = TRUE, interval = "prediction", level = 0.8)
stopifnot(identical(colnames(p$fit), c("fit", "lwr", "upr")))
close_to(p$fit[, "upr"] - p$fit[, "lwr"], 2 * qnorm(0.9) * p$se.fit)
same <- gp(k, films$text, films$score, threads = 1, target = "score")
stopifnot(identical(predict(same, new), predict(m, new)))
path <- tempfile()
lth_save(m, path)
stopifnot(identical(predict(lth_load(path), data.frame(text = new)), predict(m, new)))
saveRDS(m, path)
stopifnot(identical(predict(readRDS(path), new), predict(m, new)))
stopifnot(predict(m, new)[1] > 6, predict(m, "the poem was bad") < 4)
s <- summary(m)
stopifnot("noise" %in% s$parameters$parameter, s$left_out[["r"]] > 0.9, length(residuals(m)) == 24)

# Labels: levels keep their order; logical values come back; several classes.
g <- gp(k, films$text, label, restarts = 0)
q <- predict(g, films$text, "probabilities")
stopifnot(identical(colnames(q), levels(label)), identical(predict(g, films$text), label))
close_to(rowSums(q), rep(1, 24))
stopifnot(identical(predict(gp(k, films$text, label == "glad", restarts = 0), films$text), label == "glad"))
three <- c("a b", "a c", "b d", "b e", "c f", "c g", "a h", "b i", "c j")
classes <- rep(c("x", "y", "z"), each = 3)
v <- svm("normalize(ssk(text))", films$text, label, C = c(1, 10), grid = list("ssk.order" = 1:2), probability = TRUE)
stopifnot(identical(predict(v, films$text), label))
d <- predict(v, films$text, "decision")
stopifnot(all((d > 0) == (label == "glad"))) # the second class by name
close_to(rowSums(predict(v, films$text, "probabilities")), rep(1, 24))
stopifnot(grepl("order=2", v$kernel$expression))
stopifnot(identical(dim(predict(svm("ssk(text)", three, classes), three, "decision")), c(9L, 3L)))
close_to(predict(svm(k, films$text, films$score, C = 100), films$text), films$score, 0.2)

# Several targets, counts with exposure, a mean, weights.
both <- gp(k, films$text, cbind(a = films$score, b = -films$score), restarts = 0)
p2 <- predict(both, new)
close_to(p2[, "a"], -p2[, "b"], 1e-5)
n <- rep(c(10, 20), 12)
counts <- gp(k, films$text, round(films$score * n / 10), likelihood = "poisson", exposure = n, restarts = 0)
close_to(predict(counts, new, exposure = rep(20, 3)), 2 * predict(counts, new, exposure = rep(10, 3)))
lth_save(counts, path)
stopifnot(identical(predict(lth_load(path), new, exposure = rep(20, 3)), predict(counts, new, exposure = rep(20, 3))))
says(predict(counts, new), "exposure wants a number for each of the 3 rows")
films$z <- seq_len(24) / 24
trend <- gp("ssk(text, order=2)", films, films$score + 5 * films$z, mean = "z", restarts = 0)
stopifnot(predict(trend, data.frame(text = "we", z = 2)) > predict(trend, data.frame(text = "we", z = 0)))
lth_save(trend, path)
stopifnot(identical(predict(lth_load(path), data.frame(text = "we", z = 2)), predict(trend, data.frame(text = "we", z = 2))))
twice <- gp(k, films$text, films$score, weights = rep(2, 24), learn = FALSE, noise = 1)
stopifnot(!identical(predict(twice, new), predict(gp(k, films$text, films$score, learn = FALSE, noise = 1), new)))

# kernlab takes the matrix.
if (requireNamespace("kernlab", quietly = TRUE)) {
    normal <- "normalize(ssk(text, order=2))"
    km <- kernlab::ksvm(gram(normal, films$text), y = label, C = 10)
    support <- films$text[kernlab::SVindex(km)]
    stopifnot(identical(as.character(kernlab::predict(km, gram(normal, films$text, support))), as.character(label)))
}

# Mistakes.
says(lth_kernel("ssk(text, order=3"), "the expression ends\n  ssk\\(text, order=3\n +\\^")
says(lth_kernel("skk(text)"), "did you mean \"ssk\"")
says(gp(k, films$text, films$score[-1]), "24 rows and 23 targets")
says(gp(k, c(NA, films$text[-1]), films$score), "column \"text\", row 1: NA")
says(gp(score ~ ssk(txt), data = films), "no column \"txt\"; did you mean \"text\"")
says(gp(scores ~ ssk(text), data = films), "data has no column \"scores\"; did you mean \"score\"")
says(gp(k, films$text, films$score, colour = 3), "no argument \"colour\"")
says(gp("sstk(tree)", "(S (A a)", 1), "row 1: ")
says(gp(k, character(0), numeric(0)), "no rows to learn from")
says(lth_load(tempfile()), "No such file")
says(predict(m, new, "probabilities"), "no probabilities")
says(predict(v, 1:2, "decisions"), "should be one of")
says(gp(k, films$text, films$score, likelihood = "gausian"), "no likelihood \"gausian\"")
writeLines("not a model", path)
says(lth_load(path), "not a luthier model")

# Plots are drawn.
pdf(NULL)
plot(m)
plot(g, films$text, label)
plot(v, films$text, label)
invisible(dev.off())

# Objects are given back in any order.
rm(list = ls())
invisible(gc())
cat("all is well\n")
