import assert from 'node:assert/strict';
import { ids, made, pages, rounded, shown, strangers, version } from '../check.mjs';
import * as shop from './shop.mjs';

version('knex', 'pg');
const { knex } = shop;
assert.equal((await knex.migrate.latest())[1].length, 1, 'the first migration creates');
shown('create');
assert.equal((await knex.migrate.latest())[1].length, 0, 'then there is nothing to do');
shown('second run');
await knex.migrate.rollback();
assert.equal((await knex.migrate.latest())[1].length, 1, 'back and again');
await knex.raw('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
assert.equal((await knex.migrate.latest())[1].length, 1, 'all dropped, and again');
assert.deepEqual(await knex('information_schema.tables').where('table_schema', 'public').where('table_type', 'BASE TABLE').orderBy('table_name').pluck('table_name'),
    ['customer', 'invoice', 'knex_migrations', 'knex_migrations_lock', 'payment', 'purchase', 'reply', 'ticket'], 'no table of the extension');
shown('drop and reload');

const mine = await shop.addCustomer('Ann');
made(mine);
const few = await shop.addPurchases(mine, ['pen', 'ink']);
few.forEach(made);
assert.deepEqual((await shop.customersWithPurchases([mine]))[0].purchases.map((p) => p.id), few, 'nested JSON of new ids');
await knex('purchase').delete();

await knex('customer').insert(ids.map((id) => ({ id, name: 'c' })));
await knex('purchase').insert(ids.map((id) => ({ id: BigInt(id), customer_id: id, item: 'i' })));
const all = await shop.customersWithPurchases(ids);
assert.deepEqual(all.map((c) => c.id), ids, 'a list as parameters, and back');
assert.deepEqual(all.flatMap((c) => c.purchases.map((p) => p.id)), ids, 'nested JSON');
assert.equal((await knex('purchase').max('id'))[0].max, ids.at(-1), 'max()');
await pages(async (after, count) => (await shop.purchasesAfter(after, count)).map((p) => p.id));

// Sealed ids are texts.
const [{ id: ticket }] = await knex('ticket').insert({ item: 'tea' }).returning('id');
assert.match(ticket, /^[0-9a-v]{13}$/);
await knex('reply').insert({ ticket_id: ticket });
assert.equal((await knex('reply AS r').join('ticket AS t', 't.id', 'r.ticket_id').where('r.ticket_id', ticket).first()).item, 'tea');
assert.equal((await shop.findTicket(ticket)).item, 'tea');
for (const text of strangers) {
    assert.equal(await shop.findTicket(text), undefined, text);
}
const [{ id: invoice }] = await knex('invoice').insert({ item: 'tea' }).returning('id');
made(invoice);
await knex('payment').insert({ invoice_id: invoice });

// What tests make for themselves
await knex.raw(`CREATE DATABASE test_knex TEMPLATE ${process.env.FLAKEID_TEMPLATE}`);
const testing = shop.connect(process.env.DATABASE_URL.replace(/[^/]*$/, 'test_knex'));
await testing.migrate.latest();
const [{ id }] = await testing('ticket').insert({ item: 'tea' }).returning('id');
await testing('reply').insert({ ticket_id: id });
await testing.destroy();
await knex.raw('DROP DATABASE test_knex');
shown('test database');

// What the page warns of
const { rows: [{ json }] } = await knex.raw("SELECT json_build_object('bigint', min(id), 'flake', min(id)::flake) AS json FROM purchase");
assert.deepEqual(json, { bigint: rounded, flake: ids[0] }, 'bigint in JSON is rounded, and min() is a bigint');

await knex.destroy();
