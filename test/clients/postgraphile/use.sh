# SQL makes the tables; what is offered is made anew at each start. NODE is the program to run it with.
set -eu
shop() { psql -Xq -v ON_ERROR_STOP=1 "$@" -f shop.sql; }
shown() { echo "shown: $FLAKEID_SCHEMA $1"; }

shop
"$NODE" sdl.mjs >first
"$NODE" test.mjs
shown create
"$NODE" sdl.mjs >second
cmp first second
shown 'second run'
shop -c 'DROP SCHEMA shop CASCADE' -c 'DROP SCHEMA IF EXISTS plain CASCADE'
"$NODE" test.mjs
shown 'drop and reload'
psql -Xq -c "CREATE DATABASE test_$PGDATABASE TEMPLATE $FLAKEID_TEMPLATE"
(
    export DATABASE_URL="${DATABASE_URL%/*}/test_$PGDATABASE" PGDATABASE="test_$PGDATABASE"
    shop
    "$NODE" sdl.mjs | cmp first
    "$NODE" test.mjs
)
psql -Xq -c "DROP DATABASE test_$PGDATABASE"
shown 'test database'
