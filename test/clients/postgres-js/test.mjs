import assert from 'node:assert/strict';
import postgres from 'postgres';
import { ids, made, pages, rounded, strangers, version } from '../check.mjs';
import * as shop from './shop.mjs';

version('postgres');
const { sql } = shop;
await shop.migrate();

const mine = await shop.addCustomer('Ann');
made(mine);
const few = await shop.addPurchases([{ customer_id: mine, item: 'pen' }, { customer_id: mine, item: 'ink' }]);
few.forEach(made);
assert.deepEqual((await shop.customersWithPurchases([mine]))[0].purchases.map((p) => p.id), few, 'nested JSON of new ids');
await sql`DELETE FROM purchase`;

for (const [i, id] of ids.entries()) {
    await sql`INSERT INTO customer VALUES (${id}, ${`c${i}`})`;
    await sql`INSERT INTO purchase VALUES (${id}, ${id}, 'i')`;
}
const all = await shop.customersWithPurchases(ids);
assert.deepEqual(all.map((c) => c.id), ids, 'a list as parameters, and back');
assert.deepEqual(all.flatMap((c) => c.purchases.map((p) => p.id)), ids, 'nested JSON');
assert.deepEqual((await shop.lastPurchases()).map((l) => l.last).sort(), ids, 'max() in JSON');
assert.equal((await sql`SELECT max(id) FROM purchase`)[0].max, ids.at(-1), 'max()');
await pages(async (after, count) => (await shop.purchasesAfter(after, count)).map((p) => p.id));

// Sealed ids are texts.
const [ticket] = await sql`INSERT INTO ticket (item) VALUES ('tea') RETURNING id`;
assert.match(ticket.id, /^[0-9a-v]{13}$/);
assert.equal((await shop.findTicket(ticket.id)).item, 'tea');
const [reply] = await sql`INSERT INTO reply ${sql({ ticket_id: ticket.id })} RETURNING ticket_id, to_json(ticket_id) AS json`;
assert.deepEqual({ ...reply }, { ticket_id: ticket.id, json: ticket.id });
assert.equal((await sql`SELECT id FROM ticket WHERE id IN ${sql([ticket.id])}`)[0].id, ticket.id);
for (const text of strangers) {
    assert.equal(await shop.findTicket(text), undefined, text);
}

// What the page warns of
const warned = async (on) => (await on`SELECT
    (SELECT array_agg(id ORDER BY id) FROM purchase) AS flakes,
    (SELECT array_agg(id::bigint ORDER BY id) FROM purchase) AS bigints,
    json_build_object('id', ${ids[0]}::bigint) AS json`)[0];
const old = await warned(sql);
assert.equal(old.flakes, `{${ids}}`, 'a connection from before the extension does not know flake[]');
assert.deepEqual([...old.bigints], ids, 'bigint[] it knows');
assert.equal(old.json.id, rounded, 'bigint in JSON is rounded');
const found = await sql`SELECT id FROM purchase WHERE id = ANY (${sql.array(ids, 20)}::bigint[]) ORDER BY id`;
assert.deepEqual(found.map((p) => p.id), ids, 'an array as a parameter');
const later = postgres(process.env.DATABASE_URL);
assert.deepEqual([...(await warned(later)).flakes], ids, 'a later one does');

await later.end();
await sql.end();
