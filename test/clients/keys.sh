#!/bin/sh
# Runs the arguments twice, in a new database each: with sealed ids of 13 digits, and with a key that has a number, which is
# one digit more, and one byte more in binary.
set -eu
FLAKEID_DIGITS=13 "$@"
dropdb --force "$PGDATABASE"
createdb "$PGDATABASE"
(umask 077 && echo "7 $(openssl rand -hex 16)" >keys)
psql -XqU postgres -d postgres -c "ALTER ROLE $PGUSER IN DATABASE \"$PGDATABASE\" SET flakeid.secret_file = '$PWD/keys'"
FLAKEID_DIGITS=14 "$@"
