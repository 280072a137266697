import assert from 'node:assert/strict';
import pg from 'pg';
import { ids, made, pages, rounded, strangers, version } from '../check.mjs';
import * as shop from './shop.mjs';

version('pg');
const { pool } = shop;
await shop.migrate();

const mine = await shop.addCustomer('Ann');
made(mine);
const few = await shop.addPurchases(mine, ['pen', 'ink']);
few.forEach(made);
assert.deepEqual((await shop.customersWithPurchases([mine]))[0].purchases.map((p) => p.id), few, 'nested JSON of new ids');
await pool.query('DELETE FROM purchase');

// The ids that numbers cannot tell apart, as parameters, in JSON, as max() and page by page
for (const [i, id] of ids.entries()) {
    await pool.query('INSERT INTO customer VALUES ($1, $2)', [id, `c${i}`]);
    await pool.query({ name: 'add', text: 'INSERT INTO purchase VALUES ($1, $2, $3)', values: [BigInt(id), id, `i${i}`] });
}
const all = await shop.customersWithPurchases(ids);
assert.deepEqual(all.map((c) => c.id), ids, 'an array as a parameter, and back');
assert.deepEqual(all.flatMap((c) => c.purchases.map((p) => p.id)), ids, 'nested JSON');
assert.deepEqual((await shop.lastPurchases()).map((l) => l.last).sort(), ids, 'max() in JSON');
assert.equal((await pool.query('SELECT max(id) FROM purchase')).rows[0].max, ids.at(-1), 'max()');
await pages(async (after, count) => (await shop.purchasesAfter(after, count)).map((p) => p.id));
assert.deepEqual((await pool.query('SELECT array_agg(id::bigint ORDER BY id) AS a FROM purchase')).rows[0].a, ids, 'bigint[] is read');

// Sealed ids are texts.
const { rows: [ticket] } = await pool.query("INSERT INTO ticket (item) VALUES ('tea') RETURNING id");
assert.match(ticket.id, /^[0-9a-v]{13}$/);
assert.equal((await shop.findTicket(ticket.id)).item, 'tea');
const { rows: [reply] } = await pool.query('INSERT INTO reply (ticket_id) VALUES ($1) RETURNING ticket_id, to_json(ticket_id) AS json', [ticket.id]);
assert.deepEqual(reply, { ticket_id: ticket.id, json: ticket.id });
assert.equal((await pool.query('SELECT id FROM ticket WHERE id = ANY ($1)', [[ticket.id]])).rows[0].id, ticket.id);
for (const text of strangers) {
    assert.equal(await shop.findTicket(text), undefined, text);
}

// What the page warns of
const { rows: [warned] } = await pool.query(`SELECT
    (SELECT array_agg(id ORDER BY id) FROM purchase) AS flakes,
    json_build_object('id', ${ids[0]}::bigint) AS json`);
assert.equal(warned.flakes, `{${ids}}`, 'flake[] comes as one string');
assert.equal(warned.json.id, rounded, 'bigint in JSON is rounded');
assert.deepEqual(ids.map(String), pg.types.getTypeParser(1016)(warned.flakes), 'the parser of bigint[] reads it');

await pool.end();
