suppressPackageStartupMessages(library(RPostgreSQL))
source("flake.R")
options(warn = 2) # a warning is an error

cat("version: R ", paste(R.version$major, R.version$minor, sep = "."), ", RPostgreSQL ", as.character(packageVersion("RPostgreSQL")), "\n", sep = "")
con <- dbConnect(PostgreSQL(), host = Sys.getenv("PGHOST"), port = Sys.getenv("PGPORT"), dbname = Sys.getenv("PGDATABASE"),
                 user = Sys.getenv("PGUSER"), password = Sys.getenv("PGPASSWORD"))
run <- function(sql) invisible(dbExecute(con, sql))
run("CREATE EXTENSION flakeid")
run("CREATE TABLE orders (id flake PRIMARY KEY DEFAULT flake_next(), item text)")
run("CREATE TABLE ticket (id flake_sealed PRIMARY KEY DEFAULT flake_next(), item text)")
run("CREATE TABLE reply (id flake_sealed PRIMARY KEY DEFAULT flake_next(), ticket_id flake_sealed REFERENCES ticket)")

# Neighbours that a double does not tell apart
run("INSERT INTO orders SELECT 9007199254740993 + n, 'item ' || n FROM generate_series(0, 50) AS n")
orders <- ask(con, "SELECT id, item FROM orders ORDER BY id")
stopifnot(is.character(orders$id), length(unique(orders$id)) == 51, orders$id[1] == "9007199254740993")
stopifnot(length(unique(ask(con, "SELECT id::bigint AS id FROM orders")$id)) < 51)

# As a parameter, and a data frame with ids into a table
stopifnot(ask(con, "SELECT item FROM orders WHERE id = $1", orders$id[7])$item == "item 6")
run("DELETE FROM orders")
stopifnot(dbWriteTable(con, "orders", orders, row.names = FALSE, append = TRUE))
stopifnot(identical(ask(con, "SELECT id, item FROM orders ORDER BY id"), orders))

# Rows that get ids
new <- ask(con, "INSERT INTO orders (item) SELECT unnest(string_to_array($1, ',')) RETURNING id", "pen,ink")
stopifnot(nrow(new) == 2, nchar(new$id) >= 18)

# By time
times <- ask(con, "SELECT flake_timestamp(id) AS made FROM orders WHERE id <@ tstzrange(now() - interval '1 hour', NULL)")
stopifnot(nrow(times) == 2, inherits(times$made, "POSIXct"))

# Sealed ids, and a text that is none
ticket <- ask(con, "INSERT INTO ticket (item) VALUES ('tea') RETURNING id")$id
stopifnot(grepl("^[0-9a-v]{13}$", ticket))
reply <- ask(con, "INSERT INTO reply (ticket_id) VALUES ($1) RETURNING id", ticket)
stopifnot(ask(con, "SELECT item FROM ticket JOIN reply ON ticket.id = ticket_id WHERE ticket.id = $1", ticket)$item == "tea")
stopifnot(nrow(ask(con, "SELECT item FROM ticket WHERE id = flake_sealed_or_null($1)", "favicon.ico")) == 0)
# Tables of all schemas are listed; yours are these.
stopifnot(setequal(ask(con, "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'")$tablename, c("orders", "ticket", "reply")))
invisible(dbDisconnect(con))
