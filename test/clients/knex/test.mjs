import assert from 'node:assert/strict';
import { ids, made, pages, rounded, version } from '../check.mjs';
import * as shop from './shop.mjs';

version('knex', 'pg');
const { knex } = shop;
assert.equal((await knex.migrate.latest())[1].length, 1, 'the first migration creates');
assert.equal((await knex.migrate.latest())[1].length, 0, 'then there is nothing to do');
await knex.migrate.rollback();
assert.equal((await knex.migrate.latest())[1].length, 1, 'back and again');
await knex.raw('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
assert.equal((await knex.migrate.latest())[1].length, 1, 'all dropped, and again');
assert.deepEqual(await knex('information_schema.tables').where('table_schema', 'public').where('table_type', 'BASE TABLE').orderBy('table_name').pluck('table_name'),
    ['customer', 'knex_migrations', 'knex_migrations_lock', 'purchase'], 'no table of the extension');

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

// What the page warns of
const { rows: [{ json }] } = await knex.raw("SELECT json_build_object('bigint', min(id), 'flake', min(id)::flake) AS json FROM purchase");
assert.deepEqual(json, { bigint: rounded, flake: ids[0] }, 'bigint in JSON is rounded, and min() is a bigint');

await knex.destroy();
