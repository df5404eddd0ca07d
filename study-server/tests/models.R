# SPDX-License-Identifier: GPL-2.0-or-later
# Fits R's models to each data set in a folder and writes what it finds: model, name, value (compare_models.py).
#   usage: Rscript models.R FOLDER
suppressMessages({
  library(ordinal)
  library(lme4)
  library(lmerTest)
  library(emmeans)
})

found <- NULL
note <- function(model, name, value) {
  found <<- rbind(found, data.frame(model = model, name = name, value = as.numeric(value)))
}
noted <- function(model, kind, values) {
  for (name in names(values)) note(model, paste(kind, name), values[[name]])
}

# R's names of coefficients are ours after the factor's name.
plain <- function(names) sub("^(condition|application)", "", sub("^[(]Intercept[)]$", "(intercept)", names))

# A formula; one application is no term, and a run of each condition is the residual.
of <- function(response, data, ...) {
  reformulate(c("condition", if (nlevels(data$application) > 1) "application", ...), response)
}

# What a fit warns of is seen in its figures; a fit that fails says so.
attempt <- function(model, make) {
  tryCatch(suppressMessages(suppressWarnings(make())), error = function(e) {
    note(model, "failed", 1)
    cat(model, ": ", conditionMessage(e), "\n", sep = "")
  })
}

ratings <- function(data) {
  data <- data[!is.na(data$rating), ]
  note("ratings", "fact points", length(unique(data$rating)))
  note("ratings", "fact participants", length(unique(data$participant)))
  data$rating <- ordered(data$rating)
  data$participant <- factor(data$participant)
  fixed <- clm(of("rating", data), data = data,
               control = clm.control(gradTol = 1e-9, maxIter = 200))
  strict <- clmm.control(method = "nlminb", ctrl = list(rel.tol = 1e-14, x.tol = 1e-12),
                         gradTol = 1e-6, useMatrix = FALSE, innerCtrl = "noWarn")
  mixed <- clmm(of("rating", data, "(1 | participant)"), data = data, nAGQ = 41, control = strict)
  sigma <- sqrt(as.numeric(VarCorr(mixed)$participant))
  # At a variance of 0 the two models are one, and only the plain one has errors there.
  gain <- as.numeric(logLik(mixed)) - as.numeric(logLik(fixed))
  used <- if (gain > 1e-6) mixed else fixed
  note("ratings", "sigma", if (gain > 1e-6) sigma else 0)
  note("ratings", "log likelihood", as.numeric(logLik(used)))
  estimates <- c(used$alpha, used$beta)
  errors <- sqrt(diag(vcov(used)))[seq_along(estimates)]
  names(estimates) <- names(errors) <- plain(names(estimates))
  noted("ratings", "estimate", estimates)
  noted("ratings", "error", errors)
}

power <- function(data) {
  data <- data[!is.na(data$log_w), ]
  note("power", "fact participants", length(unique(data$participant)))
  note("power", "fact spread", sd(data$log_w))
  fit <- lmer(of("log_w", data, "(1 | participant)",
                 if (nlevels(data$application) > 1) c("(1 | participant:application)", "(1 | participant:condition)")),
              data = data,
              control = lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-10, maxfun = 1e5)))
  table <- coef(summary(fit, ddf = "Satterthwaite"))
  rownames(table) <- plain(rownames(table))
  noted("power", "estimate", table[, "Estimate"])
  noted("power", "error", table[, "Std. Error"])
  noted("power", "dof", table[, "df"])
  deviations <- as.data.frame(VarCorr(fit))
  noted("power", "deviation", setNames(deviations$sdcor, tolower(deviations$grp)))
  note("power", "criterion", REMLcrit(fit))
  against <- summary(contrast(emmeans(fit, "condition", lmer.df = "asymptotic"), "trt.vs.ctrl"))
  noted("power", "emmean", setNames(against$estimate, sub(" - .*", "", gsub("[()]", "", against$contrast))))
}

for (file in sort(list.files(commandArgs(TRUE)[[1]], "^[0-9]+\\.csv$", full.names = TRUE))) {
  found <- NULL
  cat(basename(file), "\n")
  data <- read.csv(file, stringsAsFactors = FALSE)
  data$condition <- factor(data$condition, levels = unique(data$condition[order(data$condition != "ondemand")]))
  data$application <- factor(data$application, levels = unique(data$application))
  columns <- model.matrix(of(NULL, data), data = data)
  note("design", "rank", qr(columns)$rank)
  note("design", "columns", ncol(columns))
  for (model in c("ratings", "power")) attempt(model, function() get(model)(data))
  write.csv(found, sub("[.]csv$", ".found.csv", file), row.names = FALSE)
}
