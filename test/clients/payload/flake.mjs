// Keys of the types of flakeid in Payload.
import { sql } from '@payloadcms/db-postgres/drizzle';
import { customType } from '@payloadcms/db-postgres/drizzle/pg-core';
import { APIError } from 'payload';

// The first field of each such collection
export const id = { name: 'id', type: 'text' };

// For afterSchemaInit: gives the keys of those collections, and all that points at them, their type.
export function flakeKeys(types) {
    return ({ schema, adapter, extendTable }) => {
        for (const [name, { columns, foreignKeys = {} }] of Object.entries(adapter.rawTables)) {
            const points = Object.fromEntries(Object.values(foreignKeys).map((key) => [key.columns[0], key.foreignColumns[0].table]));
            for (const [key, column] of Object.entries(columns)) {
                const type = types[column.primaryKey ? name : column.reference?.table ?? points[key]];
                if (type) {
                    const made = customType({ dataType: () => type })(column.name);
                    const own = column.primaryKey ? made.primaryKey().default(sql`flake_next()`) : column.notNull ? made.notNull() : made;
                    extendTable({ table: schema.tables[name], columns: { [key]: own } });
                }
            }
        }
        return schema;
    };
}

// For hooks.beforeOperation of a collection with sealed keys: a text that is no sealed id is answered with 404.
export async function sealedOr404({ args, req }) {
    if (args.id !== undefined) {
        const { rows } = await req.payload.db.drizzle.execute(sql`SELECT flake_sealed_or_null(${String(args.id)}) IS NULL AS none`);
        if (rows[0].none) {
            throw new APIError('Not Found', 404);
        }
    }
    return args;
}
