import assert from 'node:assert/strict';
import { Migrator, sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import { ids, made, pages, rounded, shown, strangers, version } from '../check.mjs';
import * as shop from './shop.mjs';

version('kysely', 'pg');
const { db } = shop;
const migrator = new Migrator({ db, provider: { getMigrations: async () => shop.migrations } });
const up = async () => {
    const { error, results } = await migrator.migrateToLatest();
    assert.equal(error, undefined);
    return results.length;
};
assert.equal(await up(), 1, 'the first migration creates');
shown('create');
assert.equal(await up(), 0, 'then there is nothing to do');
shown('second run');
await migrator.migrateDown();
assert.equal(await up(), 1, 'back and again');
await sql`DROP SCHEMA public CASCADE`.execute(db);
await sql`CREATE SCHEMA public`.execute(db);
assert.equal(await up(), 1, 'all dropped, and again');
shown('drop and reload');
const tables = (await db.introspection.getTables()).filter((t) => t.schema === 'public' && !t.isView).map((t) => t.name);
assert.deepEqual(tables.sort(), ['customer', 'invoice', 'payment', 'purchase', 'reply', 'ticket'], 'introspection of public names the tables of the user');
const { dataType } = (await db.introspection.getTables()).find((t) => t.name === 'purchase').columns.find((c) => c.name === 'id');
assert.equal(dataType, 'flake');
assert.equal((await db.introspection.getTables()).find((t) => t.name === 'reply').columns.find((c) => c.name === 'ticket_id').dataType, 'flake_sealed');

const mine = await shop.addCustomer('Ann');
made(mine);
const few = await shop.addPurchases(mine, ['pen', 'ink']);
few.forEach(made);
assert.deepEqual((await shop.customersWithPurchases([mine]))[0].purchases.map((p) => p.id), few, 'nested JSON of new ids');
await db.deleteFrom('purchase').execute();

await db.insertInto('customer').values(ids.map((id) => ({ id, name: 'c' }))).execute();
await db.insertInto('purchase').values(ids.map((id) => ({ id: BigInt(id), customer_id: id, item: 'i' }))).execute();
const all = await shop.customersWithPurchases(ids);
assert.deepEqual(all.map((c) => c.id), ids, 'a list as parameters, and back');
assert.deepEqual(all.flatMap((c) => c.purchases.map((p) => p.id)), ids, 'nested JSON');
assert.equal((await db.selectFrom('purchase').select((eb) => eb.fn.max('id').as('max')).executeTakeFirst()).max, ids.at(-1), 'max()');
await pages(async (after, count) => (await shop.purchasesAfter(after, count)).map((p) => p.id));

// Sealed ids are texts.
const { id: ticket } = await db.insertInto('ticket').values({ item: 'tea' }).returning('id').executeTakeFirst();
assert.match(ticket, /^[0-9a-v]{13}$/);
await db.insertInto('reply').values({ ticket_id: ticket }).execute();
assert.equal((await db.selectFrom('reply as r').innerJoin('ticket as t', 't.id', 'r.ticket_id').where('r.ticket_id', '=', ticket).selectAll().executeTakeFirst()).item, 'tea');
assert.equal((await shop.findTicket(ticket)).item, 'tea');
for (const text of strangers) {
    assert.equal(await shop.findTicket(text), undefined, text);
}
const { id: invoice } = await db.insertInto('invoice').values({ item: 'tea' }).returning('id').executeTakeFirst();
made(invoice);
await db.insertInto('payment').values({ invoice_id: invoice }).execute();

// What the page warns of
const warned = await db.selectNoFrom((eb) => jsonArrayFrom(
    eb.selectFrom('purchase').select((eb) => eb.cast('id', sql`bigint`).as('id')).orderBy('id'),
).as('json')).executeTakeFirst();
assert.equal(warned.json[0].id, rounded, 'bigint in jsonArrayFrom is rounded');
const { last: [{ min, max }] } = await db.selectNoFrom((eb) => jsonArrayFrom(
    eb.selectFrom('purchase').select((eb) => [
        eb.fn.min('id').as('min'),
        eb.cast(eb.fn.max('id'), sql`flake`).as('max'),
    ]),
).as('last')).executeTakeFirst();
assert.equal(min, rounded, 'and so is min(), which is a bigint');
assert.equal(max, ids.at(-1), 'as a flake it is not');

// What tests make for themselves
await sql`CREATE DATABASE test_kysely TEMPLATE ${sql.raw(process.env.FLAKEID_TEMPLATE)}`.execute(db);
const testing = shop.connect(process.env.DATABASE_URL.replace(/[^/]*$/, 'test_kysely'));
assert.equal((await new Migrator({ db: testing, provider: { getMigrations: async () => shop.migrations } }).migrateToLatest()).error, undefined);
const { id } = await testing.insertInto('ticket').values({ item: 'tea' }).returning('id').executeTakeFirst();
await testing.insertInto('reply').values({ ticket_id: id }).execute();
await testing.destroy();
await sql`DROP DATABASE test_kysely`.execute(db);
shown('test database');

await db.destroy();
