import assert from 'node:assert/strict';
import pg from 'pg';
import { version } from '../check.mjs';

version('pg');
const pool = new pg.Pool();
const one = async (text, ...values) => Object.values((await pool.query(text, values)).rows[0])[0];

const made = await one('INSERT INTO orders (item) VALUES ($1) RETURNING id', 'pen');
assert.match(made, /^[0-9a-v]{13}$/);
assert.equal(await one('SELECT item FROM orders WHERE id = $1', made), 'pen');
assert.equal(await one('SELECT id FROM orders WHERE id = ANY ($1)', [made, '0000000000000']), made);
assert.equal(await one('SELECT count(*) FROM orders WHERE id = flake_sealed_or_null($1)', 'favicon.ico'), '0');
await pool.query('INSERT INTO line VALUES ($1, 1)', [made]);
assert.equal(await one('SELECT order_id FROM line WHERE order_id = $1', made), made);
assert.deepEqual(await one('SELECT to_json(orders) FROM orders WHERE id = $1', made), { id: made, item: 'pen' });
await pool.end();
