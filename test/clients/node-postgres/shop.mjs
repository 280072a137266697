// node-postgres
import pg from 'pg';

export const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });

export async function migrate() {
    await pool.query(`
        CREATE EXTENSION IF NOT EXISTS flakeid;
        CREATE TABLE customer (
            id flake PRIMARY KEY DEFAULT flake_next(),
            name text NOT NULL
        );
        CREATE TABLE purchase (
            id flake PRIMARY KEY DEFAULT flake_next(),
            customer_id flake NOT NULL REFERENCES customer,
            item text NOT NULL
        );
        CREATE TABLE ticket (id flake_sealed PRIMARY KEY DEFAULT flake_next(), item text NOT NULL);
        CREATE TABLE reply (id flake_sealed PRIMARY KEY DEFAULT flake_next(), ticket_id flake_sealed NOT NULL REFERENCES ticket);`);
}

// A text from outside: one that is no sealed id finds no row, so answer 404.
export async function findTicket(text) {
    const { rows } = await pool.query('SELECT * FROM ticket WHERE id = flake_sealed_or_null($1)', [text]);
    return rows[0];
}

export async function addCustomer(name) {
    const { rows } = await pool.query('INSERT INTO customer (name) VALUES ($1) RETURNING id', [name]);
    return rows[0].id; // a string: keep it one
}

export async function addPurchases(customerId, items) {
    const { rows } = await pool.query(
        'INSERT INTO purchase (customer_id, item) SELECT $1, unnest($2::text[]) RETURNING id',
        [customerId, items]);
    return rows.map((row) => row.id);
}

export async function customersWithPurchases(customerIds) {
    const { rows } = await pool.query(
        `SELECT c.id, c.name,
                (SELECT json_agg(json_build_object('id', p.id, 'item', p.item) ORDER BY p.id)
                 FROM purchase AS p WHERE p.customer_id = c.id) AS purchases
         FROM customer AS c WHERE c.id = ANY ($1::flake[]) ORDER BY c.id`,
        [customerIds]);
    return rows;
}

export async function purchasesAfter(id, count) {
    const { rows } = await pool.query('SELECT id, item FROM purchase WHERE id > $1 ORDER BY id LIMIT $2', [id, count]);
    return rows;
}

export async function lastPurchases() {
    const { rows } = await pool.query(
        `SELECT json_agg(json_build_object('customer', customer_id, 'last', last)) AS all
         FROM (SELECT customer_id, max(id)::flake AS last FROM purchase GROUP BY customer_id) AS p`);
    return rows[0].all;
}
