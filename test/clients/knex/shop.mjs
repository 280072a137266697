// Knex
import createKnex from 'knex';

export function connect(connection) {
    return createKnex({
        client: 'pg',
        connection,
        migrations: { directory: new URL('migrations', import.meta.url).pathname, loadExtensions: ['.mjs'] },
    });
}

export const knex = connect(process.env.DATABASE_URL);

export async function addCustomer(name) {
    const [row] = await knex('customer').insert({ name }).returning('id');
    return row.id; // a string: keep it one
}

export async function addPurchases(customerId, items) {
    const rows = await knex('purchase').insert(items.map((item) => ({ customer_id: customerId, item }))).returning('id');
    return rows.map((row) => row.id);
}

export async function customersWithPurchases(customerIds) {
    return knex('customer AS c')
        .whereIn('c.id', customerIds)
        .orderBy('c.id')
        .select('c.id', 'c.name', knex('purchase AS p').whereRaw('p.customer_id = c.id')
            .select(knex.raw("json_agg(json_build_object('id', p.id, 'item', p.item) ORDER BY p.id)")).as('purchases'));
}

// A text from outside: one that is no sealed id finds no row, so answer 404.
export async function findTicket(text) {
    return knex('ticket').where('id', knex.raw('flake_sealed_or_null(?)', [text])).first();
}

export async function purchasesAfter(id, count) {
    return knex('purchase').where('id', '>', id).orderBy('id').limit(count).select('id', 'item');
}
