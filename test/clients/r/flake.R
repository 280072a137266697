# flake and flake_sealed in R with RPostgreSQL: both are character, which holds every digit. (A bigint is a double, which does not.)
ask <- function(con, ...) withCallingHandlers(
    DBI::dbGetQuery(con, ...),
    warning = function(w) if (grepl("unrecognized PostgreSQL field type flake", conditionMessage(w))) invokeRestart("muffleWarning")
)
