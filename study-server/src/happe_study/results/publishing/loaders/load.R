# SPDX-License-Identifier: GPL-2.0-or-later
# Loads the tables of this data package as a list of data frames, typed as the table `dictionary` says. Needs base R only.
#   source("load.R")
#   tables <- load_study("folder/of/the/package")
#   summary(tables$runs)
load_study <- function(folder = ".") {
  read <- function(file) {
    read.csv(file, colClasses = "character", na.strings = "", check.names = FALSE, encoding = "UTF-8")
  }
  file <- list.files(folder, "-dictionary\\.csv$", full.names = TRUE)
  stopifnot(length(file) == 1)
  dictionary <- read(file)
  study <- sub("-dictionary\\.csv$", "", basename(file))
  typed <- function(values, type) {
    switch(type,
      # Microseconds since 1970 are beyond R's integers, and exact as its numbers.
      integer = , number = as.numeric(values),
      boolean = values == "true",
      text = sub("^'([=+@\t\r-])", "\\1", values)
    )
  }
  tables <- list()
  for (name in unique(dictionary$table)) {
    file <- file.path(folder, paste0(study, "-", name, ".csv"))
    if (!file.exists(file)) next
    table <- read(file)
    described <- dictionary[dictionary$table == name, ]
    for (column in names(table)) {
      table[[column]] <- typed(table[[column]], described$type[described$column == column])
    }
    tables[[name]] <- table
  }
  tables
}
