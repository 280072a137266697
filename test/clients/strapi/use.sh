set -eu
sql() { psql -XAtq -v ON_ERROR_STOP=1 -c "$1"; }
export STRAPI_TELEMETRY_DISABLED=true NODE_ENV=production
mkdir -p public/uploads
program() { node use.mjs </dev/null; }
tables() {
    pg_dump -s "$PGDATABASE" | grep -v '^\\' | sed 's/,$//'
    sql "SELECT relname, relfilenode FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1"
}
shown() { echo "shown: $FLAKEID_SCHEMA $1"; }
is() { [ "$1" = "$2" ] || { printf '%s\n' "is: $1" "not: $2"; exit 1; }; }

sql 'CREATE EXTENSION IF NOT EXISTS flakeid'
program
is "$(sql "SELECT string_agg(concat_ws(' ', table_name, column_name, udt_name), ', ' ORDER BY table_name, column_name) FROM information_schema.columns
    WHERE table_schema = 'public' AND table_name ~ '^(order|line|ticket|repl|invoice|payment)' AND column_name ~ '(^|[a-z]_)id$' AND column_name !~ '_by_|document'
      AND NOT (table_name ~ '_lnk$' AND column_name = 'id')")" \
    'invoices id int8, lines id flake, lines_order_lnk line_id flake, lines_order_lnk order_id flake, orders id flake, payments id int8, payments_invoice_lnk invoice_id int8, payments_invoice_lnk payment_id int8, replies id flake_sealed, replies_ticket_lnk reply_id flake_sealed, replies_ticket_lnk ticket_id flake_sealed, tickets id flake_sealed'
shown create
tables >before
program
tables >after
diff before after
# A new field of each kind of key, and nothing else
for type in order ticket invoice; do
    sed -i 's/"item": { "type": "string" }/&, "note": { "type": "text" }/' src/api/$type/content-types/$type/schema.json
done
program
tables >after
is "$(diff before after | grep '^[<>]')" "$(printf '>     note text\n%.0s' 1 2 3)"
shown 'second run'
# A table of which Strapi has made the key itself
sql 'ALTER TABLE orders ALTER id DROP DEFAULT'
sed -i 's/"note"/"notes"/' src/api/order/content-types/order/schema.json
program >log 2>&1 && exit 1
grep 'Name a content type before its table is made' log
sql 'DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE EXTENSION IF NOT EXISTS flakeid'
program
shown 'drop and reload'
sql "CREATE DATABASE test_strapi TEMPLATE $FLAKEID_TEMPLATE"
psql -Xq -d test_strapi -c 'CREATE EXTENSION IF NOT EXISTS flakeid'
DATABASE_URL=${DATABASE_URL%/*}/test_strapi program
sql 'DROP DATABASE test_strapi'
shown 'test database'
