# What drizzle-kit pull left open: sed -i -f pulled.sed pulled/schema.ts
1i import { flake, flakeSealed } from "../flake.mjs"
/failed to parse database type '.*flake_sealed'/ { N; s/.*\n\(.*\)unknown(/\1flakeSealed(/ }
/failed to parse database type '.*flake'/ { N; s/.*\n\(.*\)unknown(/\1flake(/ }
# Every key gets the default that pull does not see. Take it away where others give the id.
s/\(flake\|flakeSealed\)\(([^)]*)\)\.primaryKey()/\1\2.default(sql`flake_next()`).primaryKey()/
# A number would find no row.
s/{ mode: "number" }/{ mode: "bigint" }/
