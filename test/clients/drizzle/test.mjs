import assert from 'node:assert/strict';
import { eq, sql } from 'drizzle-orm';
import { bigint, pgTable } from 'drizzle-orm/pg-core';
import { ids, made, pages, rounded, strangers, version } from '../check.mjs';
import { customer, invoice, payment, purchase, reply, ticket } from './schema.mjs';
import * as shop from './shop.mjs';

version('drizzle-orm', 'drizzle-kit', 'pg');
const { db } = shop;

const mine = await shop.addCustomer('Ann');
made(mine);
const few = await shop.addPurchases(mine, ['pen', 'ink']);
few.forEach(made);
assert.deepEqual((await shop.customersWithPurchases([mine]))[0].purchases.map((p) => p.id), few, 'a relational query of new ids');
await db.delete(purchase);

await db.insert(customer).values(ids.map((id) => ({ id, name: 'c' })));
await db.insert(purchase).values(ids.map((id) => ({ id, customerId: id, item: 'i' })));
const all = await shop.customersWithPurchases(ids);
assert.deepEqual(all.map((c) => c.id), ids, 'a list as parameters, and back');
assert.deepEqual(all.flatMap((c) => c.purchases.map((p) => p.id)), ids, 'a relational query, which is nested JSON');
assert.equal(await shop.lastPurchase(), ids.at(-1), 'max()');
await pages(async (after, count) => (await shop.purchasesAfter(after, count)).map((p) => p.id));

const extras = { last: sql`(SELECT max(p.id)::flake FROM purchase AS p WHERE p.customer_id = ${customer.id})`.as('last') };
const { purchases: [{ customer: { last } }] } = await db.query.customer.findFirst({
    with: { purchases: { with: { customer: { extras } } } },
    where: eq(customer.id, ids[6]),
});
assert.equal(last, ids[6], 'max() in JSON');

// What the page warns of: a relational query sends JSON, and JSON of a bigint column is a number.
const plain = pgTable('purchase', { id: bigint({ mode: 'bigint' }).primaryKey() });
const { rows: [{ json }] } = await db.execute(sql`SELECT json_agg(id::bigint ORDER BY id) AS json FROM ${plain}`);
assert.equal(json[0], rounded);

// Sealed ids are texts.
const [{ id }] = await db.insert(ticket).values({ item: 'tea' }).returning();
assert.match(id, /^[0-9a-v]{13}$/);
await db.insert(reply).values({ ticketId: id });
assert.equal((await db.select().from(reply).where(eq(reply.ticketId, id)))[0].ticketId, id);
assert.equal((await shop.findTicket(id)).item, 'tea');
for (const text of strangers) {
    assert.equal(await shop.findTicket(text), undefined, text);
}
const [bill] = await db.insert(invoice).values({ item: 'tea' }).returning();
await db.insert(payment).values({ invoiceId: bill.id });
assert.equal((await db.select().from(payment).where(eq(payment.invoiceId, bill.id))).length, 1);

await db.$client.end();
