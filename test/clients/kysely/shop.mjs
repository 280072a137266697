// Kysely
import { Kysely, PostgresDialect, sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import pg from 'pg';

// In TypeScript: interface Purchase { id: Generated<string>; customer_id: string; item: string }
export function connect(connectionString) {
    return new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString }) }) });
}

export const db = connect(process.env.DATABASE_URL);

export const migrations = {
    '1_shop': {
        async up(db) {
            await sql`CREATE EXTENSION IF NOT EXISTS flakeid`.execute(db);
            const id = (column) => column.primaryKey().defaultTo(sql`flake_next()`);
            await db.schema.createTable('customer')
                .addColumn('id', sql`flake`, id)
                .addColumn('name', 'text', (column) => column.notNull())
                .execute();
            await db.schema.createTable('purchase')
                .addColumn('id', sql`flake`, id)
                .addColumn('customer_id', sql`flake`, (column) => column.notNull().references('customer.id'))
                .addColumn('item', 'text', (column) => column.notNull())
                .execute();
            for (const [type, parent, child] of [['flake_sealed', 'ticket', 'reply'], ['bigint', 'invoice', 'payment']]) {
                await db.schema.createTable(parent)
                    .addColumn('id', sql.raw(type), id)
                    .addColumn('item', 'text', (column) => column.notNull())
                    .execute();
                await db.schema.createTable(child)
                    .addColumn('id', sql.raw(type), id)
                    .addColumn(`${parent}_id`, sql.raw(type), (column) => column.notNull().references(`${parent}.id`))
                    .execute();
            }
        },
        async down(db) {
            for (const table of ['purchase', 'customer', 'reply', 'ticket', 'payment', 'invoice']) {
                await db.schema.dropTable(table).execute();
            }
        },
    },
};

export async function addCustomer(name) {
    const row = await db.insertInto('customer').values({ name }).returning('id').executeTakeFirstOrThrow();
    return row.id; // a string: keep it one
}

export async function addPurchases(customerId, items) {
    const rows = await db.insertInto('purchase').values(items.map((item) => ({ customer_id: customerId, item }))).returning('id').execute();
    return rows.map((row) => row.id);
}

export async function customersWithPurchases(customerIds) {
    return db.selectFrom('customer as c').where('c.id', 'in', customerIds).orderBy('c.id')
        .select((eb) => ['c.id', 'c.name', jsonArrayFrom(
            eb.selectFrom('purchase as p').whereRef('p.customer_id', '=', 'c.id').orderBy('p.id').select(['p.id', 'p.item']),
        ).as('purchases')])
        .execute();
}

// A text from outside: one that is no sealed id finds no row, so answer 404.
export async function findTicket(text) {
    return db.selectFrom('ticket').where('id', '=', (eb) => eb.fn('flake_sealed_or_null', [eb.val(text)])).selectAll().executeTakeFirst();
}

export async function purchasesAfter(id, count) {
    return db.selectFrom('purchase').where('id', '>', id).orderBy('id').limit(count).select(['id', 'item']).execute();
}
