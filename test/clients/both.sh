#!/bin/sh
# Runs the arguments twice: with flakeid in public, where a migration creates it, and with flakeid in a schema of its
# own, which is there before. A database that the program makes by itself is made from FLAKEID_TEMPLATE. Lines
# "shown: public WHAT", or "own" in the place of public, are for the table of doc/clients/README.md: WHAT is "create",
# "second run", "drop and reload" or "test database".
set -eu
sql() { psql -Xq -v ON_ERROR_STOP=1 "$@"; }
trap 'sql -d postgres -c "ALTER ROLE CURRENT_USER RESET search_path" -c "DROP DATABASE IF EXISTS template_flakeid"' EXIT
trap 'exit 130' INT TERM
from=$PWD
mkdir "$from.own"
find . -mindepth 1 -maxdepth 1 ! -name node_modules -exec cp -r -t "$from.own" {} +
[ ! -d node_modules ] || ln -s "$from/node_modules" "$from.own"

echo 'flakeid in public'
FLAKEID_SCHEMA=public FLAKEID_TEMPLATE=template1 "$@"

echo 'flakeid in a schema of its own'
cd "$from.own"
sql -d postgres -c 'ALTER ROLE CURRENT_USER SET search_path = public, extensions' -c 'CREATE DATABASE template_flakeid'
sql -d template_flakeid -c 'CREATE SCHEMA extensions' -c 'CREATE EXTENSION flakeid SCHEMA extensions'
dropdb --force "$PGDATABASE"
createdb -T template_flakeid "$PGDATABASE"
FLAKEID_SCHEMA=own FLAKEID_TEMPLATE=template_flakeid "$@"
