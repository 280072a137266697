pg_repack --table orders "$PGDATABASE"
pg_repack --only-indexes --table orders "$PGDATABASE"
