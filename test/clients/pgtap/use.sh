# Tests of pgTAP over a schema with keys of all three types: finish(true) ends in an error where one fails.
set -eu
sql() { psql -XAtq -v ON_ERROR_STOP=1 "$@"; }
shown() { echo "shown: $FLAKEID_SCHEMA $1"; }
is() { [ "$1" = "$2" ] || { printf '%s\n' "is: $1" "not: $2"; exit 1; }; }
more=
[ "$FLAKEID_SCHEMA" = public ] || more=extensions
prove() {
    sql -f test.sql -v more_schemas="$more" >out || { cat out; exit 1; }
    is "$(grep -o '\<ok [0-9]*' out | wc -l) $(grep -c 'not ok' out)" '34 0'
}

[ "$FLAKEID_SCHEMA" = public ] || sql -c 'CREATE EXTENSION pgtap SCHEMA extensions'
sql -f shop.sql
prove
shown create
# What lists types and functions lists those of extensions that stand in that schema.
types=$(sql -c 'SELECT plan(2)' -c "SELECT types_are('public', '{}'::name[])" -c "SELECT functions_are('public', '{}'::name[])")
if [ "$FLAKEID_SCHEMA" = public ]; then
    is "$(echo "$types" | grep -c '^not ok\|^#  *\(flake\|flake_sealed\|flake_next\)$')" 7
else
    is "$(echo "$types" | grep -c '^ok')" 2
fi
sql -f test.sql -v more_schemas="$more other" >out 2>&1 && exit 1 # a test that fails is seen
prove
shown 'second run'
sql -c 'DROP SCHEMA public CASCADE; CREATE SCHEMA public' -f shop.sql
prove
shown 'drop and reload'
sql -c "CREATE DATABASE test_pgtap TEMPLATE $FLAKEID_TEMPLATE"
(export PGDATABASE=test_pgtap && { [ -z "$more" ] || sql -c 'CREATE EXTENSION pgtap SCHEMA extensions'; } && sql -f shop.sql && prove)
sql -c 'DROP DATABASE test_pgtap'
shown 'test database'
