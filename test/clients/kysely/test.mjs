import assert from 'node:assert/strict';
import { Migrator, sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import { ids, made, pages, rounded, version } from '../check.mjs';
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
assert.equal(await up(), 0, 'then there is nothing to do');
await migrator.migrateDown();
assert.equal(await up(), 1, 'back and again');
await sql`DROP SCHEMA public CASCADE`.execute(db);
await sql`CREATE SCHEMA public`.execute(db);
assert.equal(await up(), 1, 'all dropped, and again');
const tables = (await db.introspection.getTables()).filter((t) => t.schema === 'public' && !t.isView).map((t) => t.name);
assert.deepEqual(tables.sort(), ['customer', 'purchase'], 'introspection of public names the tables of the user');
const { dataType } = (await db.introspection.getTables()).find((t) => t.name === 'purchase').columns.find((c) => c.name === 'id');
assert.equal(dataType, 'flake');

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

await db.destroy();
