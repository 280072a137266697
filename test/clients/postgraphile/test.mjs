import assert from 'node:assert/strict';
import { graphql } from 'graphql';
import pg from 'pg';
import { createPostGraphileSchema, withPostGraphileContext } from 'postgraphile';
import { ids, made, pages, strangers, version } from '../check.mjs';

version('postgraphile', 'pg');
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
const schema = await createPostGraphileSchema(pool, ['shop', 'public']);
const offered = [schema.getQueryType(), schema.getMutationType()].flatMap((type) => Object.keys(type.getFields()));
assert.ok(offered.includes('findTicket') && offered.every((name) => !/flake/i.test(name)), `nothing of the extension: ${offered}`);
const ask = (source, variables) => withPostGraphileContext({ pgPool: pool }, async (context) => {
    const { data, errors } = await graphql(schema, source, null, { ...context }, variables);
    assert.equal(errors, undefined, errors?.join('\n'));
    return data;
});

const { createCustomer: { customer } } = await ask('mutation { createCustomer(input: { customer: { name: "Ann" } }) { customer { id } } }');
made(customer.id);
await ask('mutation ($id: BigFloat!) { createPurchase(input: { purchase: { customerId: $id, item: "pen" } }) { purchase { id } } }', { id: customer.id });
await pool.query('DELETE FROM shop.purchase; DELETE FROM shop.customer');

await pool.query("INSERT INTO shop.customer SELECT id, 'c' FROM unnest($1::flake[]) AS id", [ids]);
await pool.query("INSERT INTO shop.purchase SELECT id, id, 'i' FROM unnest($1::flake[]) AS id", [ids]);
const { allCustomers } = await ask('{ allCustomers(orderBy: ID_ASC) { nodes { id purchasesByCustomerId { nodes { id } } } } }');
assert.deepEqual(allCustomers.nodes.map((c) => c.id), ids, 'read');
assert.deepEqual(allCustomers.nodes.flatMap((c) => c.purchasesByCustomerId.nodes.map((p) => p.id)), ids, 'nested');
for (const id of ids) {
    assert.equal((await ask('query ($id: BigFloat!) { purchaseById(id: $id) { id } }', { id })).purchaseById.id, id, 'as a variable');
}
assert.equal((await ask('{ lastPurchase }')).lastPurchase, ids.at(-1), 'max()');
const { allPurchases: last } = await ask('{ allPurchases(orderBy: ID_DESC, first: 1) { nodes { id } } }');
assert.equal(last.nodes[0].id, ids.at(-1), 'the last one');
await pages(async (after, count) => (await ask('query ($after: BigFloat!, $count: Int!) { purchasesAfter(id: $after, count: $count) { nodes { id } } }', { after, count }))
    .purchasesAfter.nodes.map((p) => p.id));
const seen = [];
for (let cursor = null, more = true; more;) {
    const { allPurchases } = await ask('query ($cursor: Cursor) { allPurchases(orderBy: ID_ASC, first: 7, after: $cursor) { nodes { id } pageInfo { endCursor hasNextPage } } }', { cursor });
    seen.push(...allPurchases.nodes.map((p) => p.id));
    cursor = allPurchases.pageInfo.endCursor;
    more = allPurchases.pageInfo.hasNextPage;
}
assert.deepEqual(seen, ids, 'its own cursors, on eight pages');

// Sealed ids are texts.
const { createTicket: { ticket } } = await ask('mutation { createTicket(input: { ticket: { item: "tea" } }) { ticket { id } } }');
assert.match(ticket.id, /^[0-9a-v]{13}$/);
const { createReply: { reply } } = await ask(
    'mutation ($id: String!) { createReply(input: { reply: { ticketId: $id } }) { reply { id ticketByTicketId { id item } } } }', { id: ticket.id });
assert.deepEqual({ ...reply.ticketByTicketId }, { id: ticket.id, item: 'tea' });
for (const [id, expected] of [[ticket.id, 'tea'], ...strangers.map((text) => [text, undefined])]) {
    assert.equal((await ask('query ($id: String!) { findTicket(id: $id) { item } }', { id })).findTicket?.item, expected, id);
}
const { createInvoice: { invoice } } = await ask('mutation { createInvoice(input: { invoice: { item: "tea" } }) { invoice { id } } }');
made(invoice.id);

// What the page warns of
await pool.query('CREATE SCHEMA plain; CREATE TABLE plain.thing (id bigint PRIMARY KEY)');
await pool.query('INSERT INTO plain.thing SELECT unnest($1::bigint[])', [ids]);
const plain = await createPostGraphileSchema(pool, ['plain']);
const lost = new Set();
for (let cursor = null, page = 0; page < 8; page++) {
    const { data } = await withPostGraphileContext({ pgPool: pool }, (context) => graphql(plain,
        'query ($cursor: Cursor) { allThings(orderBy: ID_ASC, first: 7, after: $cursor) { nodes { id } pageInfo { endCursor } } }', null, { ...context }, { cursor }));
    data.allThings.nodes.forEach((thing) => lost.add(thing.id));
    cursor = data.allThings.pageInfo.endCursor;
}
assert.ok(lost.size < ids.length, `cursors of a bigint column lose rows: ${lost.size} of ${ids.length} on eight pages`);
console.log(`of bigint: ${lost.size} of ${ids.length}`);

await pool.end();
