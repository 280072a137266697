# drizzle-kit: the first migration creates, the second has nothing to do, all is dropped and made again, and what is
# pulled and edited is what is there.
set -eu
kit() { NO_COLOR=1 npx --no-install drizzle-kit "$@"; }
sql() { psql -XAtq -v ON_ERROR_STOP=1 -c "$1"; }
tables() { sql "SELECT string_agg(tablename, ' ' ORDER BY tablename) FROM pg_tables WHERE schemaname = 'public'"; }
is() { [ "$1" = "$2" ] || { printf '%s\n' "is: $1" "not: $2"; exit 1; }; }
same() { kit push --force "$@" >push.log 2>&1; grep 'No changes detected' push.log || { cat push.log; exit 1; }; }
# After a line that drizzle-kit has not ended
shown() { printf '\nshown: %s %s\n' "$FLAKEID_SCHEMA" "$1"; }
all='customer invoice payment purchase reply ticket'

kit generate --custom --name extension
echo 'CREATE EXTENSION IF NOT EXISTS flakeid;' >migrations/0000_extension.sql
kit generate --name first
is "$(grep -c 'CREATE TABLE' migrations/*_first.sql)" 6
kit generate --name second | grep 'nothing to migrate'
kit migrate
is "$(tables)" "$all"
shown create
same
shown 'second run'

sql 'DROP SCHEMA public CASCADE; DROP SCHEMA drizzle CASCADE; CREATE SCHEMA public'
kit migrate
is "$(tables)" "$all"
sql 'DROP TABLE purchase, customer, reply, ticket, payment, invoice'
kit push --force
is "$(tables)" "$all"
same
shown 'drop and reload'

node test.mjs

# In the config: schema: './pulled/schema.ts'
kit pull --dialect postgresql --url "$DATABASE_URL" --schemaFilters public --out pulled
is "$(sed -n 's/^export const \([a-zA-Z]*\) = pg.*/\1/p' pulled/schema.ts | sort | paste -sd' ')" "$all"
is "$(grep -c 'TODO' pulled/schema.ts)" 6
sed -i -f pulled.sed pulled/schema.ts
is "$(grep -c 'TODO\|unknown' pulled/schema.ts)" 0
same --dialect postgresql --url "$DATABASE_URL" --schema ./pulled/schema.ts
cp pulled/schema.ts pulled/schema.mjs
node pulled.mjs

sql "CREATE DATABASE test_drizzle TEMPLATE $FLAKEID_TEMPLATE"
url=${DATABASE_URL%/*}/test_drizzle
DATABASE_URL=$url kit migrate
DATABASE_URL=$url same
sql 'DROP DATABASE test_drizzle'
shown 'test database'
