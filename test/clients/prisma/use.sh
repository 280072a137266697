# Prisma: the first migration creates, then there is no difference, all is dropped and made again.
set -eu
# No engine but the one that the npm packages hold.
export PRISMA_QUERY_ENGINE_LIBRARY=/bin/true PRISMA_SCHEMA_ENGINE_BINARY=/bin/true PRISMA_HIDE_UPDATE_MESSAGE=1 CHECKPOINT_DISABLE=1
prisma() { npx --no-install prisma "$@"; }
shown() { printf '\nshown: %s %s\n' "$FLAKEID_SCHEMA" "$1"; }
is() { [ "$1" = "$2" ] || { printf '%s\n' "is: $1" "not: $2"; exit 1; }; }
tables() { psql -XAtqc "SELECT string_agg(tablename, ' ' ORDER BY tablename) FROM pg_tables WHERE schemaname = 'public'"; }
same() { prisma db push --skip-generate | grep 'already in sync'; }

# In a database that has the extension. This engine fails when all its work is done, so the file tells.
psql -Xqc 'CREATE EXTENSION IF NOT EXISTS flakeid'
prisma migrate dev --create-only --name shop || true
migration=$(echo prisma/migrations/*_shop/migration.sql)
is "$(grep -c 'CREATE TABLE' "$migration")" 2
is "$(grep -c DROP "$migration")" 0
sed -i '1i CREATE EXTENSION IF NOT EXISTS flakeid;' "$migration"
prisma migrate deploy
is "$(tables)" '_prisma_migrations customer purchase'
shown create
same
# Both in a shadow database
prisma migrate dev --skip-generate | grep 'Already in sync'
prisma migrate diff --from-migrations prisma/migrations --to-schema-datamodel prisma/schema.prisma --exit-code
shown 'second run'

psql -Xqc 'DROP SCHEMA public CASCADE; CREATE SCHEMA public'
prisma migrate deploy
is "$(tables)" '_prisma_migrations customer purchase'
prisma migrate reset --force --skip-generate
is "$(tables)" '_prisma_migrations customer purchase'
same
shown 'drop and reload'

psql -Xqc "CREATE DATABASE test_prisma TEMPLATE $FLAKEID_TEMPLATE"
DATABASE_URL=${DATABASE_URL%/*}/test_prisma prisma migrate deploy
psql -Xqc 'DROP DATABASE test_prisma'
shown 'test database'

is "$(prisma db pull --print | sed -n 's/^\(model\|view\) \([a-z]*\) .*/\2/p' | sort | paste -sd,)" customer,purchase
prisma generate
exec node test.mjs
