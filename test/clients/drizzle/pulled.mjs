// What was pulled and edited finds rows, and makes them.
import assert from 'node:assert/strict';
import { eq } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import * as schema from './pulled/schema.mjs';

const db = drizzle(process.env.DATABASE_URL, { schema });
for (const [parent, child, key] of [['customer', 'purchase', 'customerId'], ['ticket', 'reply', 'ticketId'], ['invoice', 'payment', 'invoiceId']]) {
    const [one, other] = [schema[parent], schema[child]];
    const [{ id }] = await db.insert(one).values({ name: 'n', item: 'i' }).returning();
    await db.insert(other).values({ [key]: id, item: 'i' });
    assert.equal((await db.select().from(one).where(eq(one.id, id))).length, 1, parent);
    assert.equal((await db.select().from(other).where(eq(other[key], id))).length, 1, child);
}
await db.$client.end();
