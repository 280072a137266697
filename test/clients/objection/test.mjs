import assert from 'node:assert/strict';
import { ids, made, pages, shown, strangers, version } from '../check.mjs';
import { Customer, Invoice, Payment, Purchase, Reply, Ticket, connect } from './shop.mjs';

version('objection', 'knex', 'pg');
const knex = connect(process.env.DATABASE_URL);
assert.equal((await knex.migrate.latest())[1].length, 1);
shown('create');
assert.equal((await knex.migrate.latest())[1].length, 0);
shown('second run');
await knex.raw('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
assert.equal((await knex.migrate.latest())[1].length, 1);
shown('drop and reload');

// A graph comes back with its ids.
const ann = await Customer.query(knex).insertGraph({ name: 'Ann', purchases: [{ item: 'pen' }, { item: 'ink' }] });
[ann, ...ann.purchases].forEach(({ id }) => made(id));
assert.ok(ann.purchases.every((purchase) => purchase.customer_id === ann.id));
await Purchase.query(knex).delete();

await Customer.query(knex).insert(ids.map((id) => ({ id, name: 'c' })));
await Purchase.query(knex).insert(ids.map((id) => ({ id, customer_id: id, item: 'i' })));
for (const fetched of ['withGraphFetched', 'withGraphJoined']) {
    const all = JSON.parse(JSON.stringify(await Customer.query(knex).findByIds(ids)[fetched]('purchases').orderBy('customer.id')));
    assert.deepEqual(all.map((c) => c.id), ids, fetched);
    assert.deepEqual(all.flatMap((c) => c.purchases.map((p) => p.id)), ids, fetched);
}
assert.equal((await Purchase.query(knex).max('id').first()).max, ids.at(-1));
await pages(async (after, count) => (await Purchase.query(knex).where('id', '>', after).orderBy('id').limit(count)).map((p) => p.id));

// Sealed ids are texts.
const ticket = await Ticket.query(knex).insert({ item: 'tea' });
assert.match(ticket.id, /^[0-9a-v]{13}$/);
await Reply.query(knex).insert({ ticket_id: ticket.id });
assert.equal((await Reply.query(knex).withGraphFetched('ticket').findOne({ ticket_id: ticket.id })).ticket.item, 'tea');
assert.equal((await Ticket.find(ticket.id, knex)).item, 'tea');
for (const text of strangers) {
    assert.equal(await Ticket.find(text, knex), undefined, text);
}
const invoice = await Invoice.query(knex).insert({ item: 'tea' });
made(invoice.id);
await Payment.query(knex).insert({ invoice_id: invoice.id });
assert.equal((await Payment.query(knex).withGraphFetched('invoice').findOne({ invoice_id: invoice.id })).invoice.item, 'tea');

// What tests make for themselves
await knex.raw(`CREATE DATABASE test_objection TEMPLATE ${process.env.FLAKEID_TEMPLATE}`);
const testing = connect(process.env.DATABASE_URL.replace(/[^/]*$/, 'test_objection'));
await testing.migrate.latest();
await Reply.query(testing).insert({ ticket_id: (await Ticket.query(testing).insert({ item: 'tea' })).id });
await testing.destroy();
await knex.raw('DROP DATABASE test_objection');
shown('test database');
await knex.destroy();
