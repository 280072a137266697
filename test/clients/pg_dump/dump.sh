pg_dump -Fd -j 4 -f dump "$PGDATABASE"
createdb restored
pg_restore -j 4 --exit-on-error -d restored dump
