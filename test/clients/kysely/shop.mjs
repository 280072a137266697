// Kysely
import { Kysely, PostgresDialect, sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import pg from 'pg';

// In TypeScript: interface Purchase { id: Generated<string>; customer_id: string; item: string }
export const db = new Kysely({
    dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: process.env.DATABASE_URL }) }),
});

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
        },
        async down(db) {
            await db.schema.dropTable('purchase').execute();
            await db.schema.dropTable('customer').execute();
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

export async function purchasesAfter(id, count) {
    return db.selectFrom('purchase').where('id', '>', id).orderBy('id').limit(count).select(['id', 'item']).execute();
}
