// postgres.js
import postgres from 'postgres';

export const sql = postgres(process.env.DATABASE_URL, { onnotice: () => {} });

export async function migrate() {
    await sql`CREATE EXTENSION IF NOT EXISTS flakeid`;
    await sql`CREATE TABLE customer (id flake PRIMARY KEY DEFAULT flake_next(), name text NOT NULL)`;
    await sql`CREATE TABLE purchase (
        id flake PRIMARY KEY DEFAULT flake_next(),
        customer_id flake NOT NULL REFERENCES customer,
        item text NOT NULL
    )`;
    await sql`CREATE TABLE ticket (id flake_sealed PRIMARY KEY DEFAULT flake_next(), item text NOT NULL)`;
    await sql`CREATE TABLE reply (id flake_sealed PRIMARY KEY DEFAULT flake_next(), ticket_id flake_sealed NOT NULL REFERENCES ticket)`;
}

// A text from outside: one that is no sealed id finds no row, so answer 404.
export async function findTicket(text) {
    const [row] = await sql`SELECT * FROM ticket WHERE id = flake_sealed_or_null(${text})`;
    return row;
}

export async function addCustomer(name) {
    const [row] = await sql`INSERT INTO customer ${sql({ name })} RETURNING id`;
    return row.id; // a string: keep it one
}

export async function addPurchases(purchases) {
    const rows = await sql`INSERT INTO purchase ${sql(purchases, 'customer_id', 'item')} RETURNING id`;
    return rows.map((row) => row.id);
}

export async function customersWithPurchases(customerIds) {
    return sql`
        SELECT c.id, c.name,
               (SELECT json_agg(json_build_object('id', p.id, 'item', p.item) ORDER BY p.id)
                FROM purchase AS p WHERE p.customer_id = c.id) AS purchases
        FROM customer AS c WHERE c.id IN ${sql(customerIds)} ORDER BY c.id`;
}

export async function purchasesAfter(id, count) {
    return sql`SELECT id, item FROM purchase WHERE id > ${id} ORDER BY id LIMIT ${count}`;
}

export async function lastPurchases() {
    const [row] = await sql`
        SELECT json_agg(json_build_object('customer', customer_id, 'last', last)) AS all
        FROM (SELECT customer_id, max(id)::flake AS last FROM purchase GROUP BY customer_id) AS p`;
    return row.all;
}
