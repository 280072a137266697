pg_dump -Fd -j 4 -f dump --exclude-table-data='flakeid.*' "$PGDATABASE"
createdb restored
pg_restore -j 4 --exit-on-error -d restored dump
