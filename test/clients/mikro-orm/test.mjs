import assert from 'node:assert/strict';
import { DatabaseSchema, MikroORM } from '@mikro-orm/postgresql';
import { ids, made, pages, rounded, version } from '../check.mjs';
import { Customer, Purchase, config, customersWithPurchases, lastPurchase, purchasesAfter } from './shop.mjs';

version('@mikro-orm/core', 'pg');
const orm = await MikroORM.init(config);
const migrator = orm.getMigrator();
const { diff: { up } } = await migrator.createMigration();
assert.equal(up.filter((s) => /create table/.test(s)).length, 2, 'the first migration creates');
assert.ok(up.every((s) => !/drop|serial/.test(s)), up.join('\n'));
await migrator.up();
assert.deepEqual((await migrator.createMigration()).diff.up, [], 'the second difference is empty');
assert.equal(await orm.schema.getUpdateSchemaSQL(), '');
const introspected = await DatabaseSchema.create(orm.em.getConnection(), orm.em.getPlatform(), orm.config);
assert.deepEqual(introspected.getTables().map((t) => t.name).filter((name) => name !== 'mikro_orm_migrations').sort(), ['customer', 'purchase'], 'introspection names the tables of the user');
assert.ok(!/flake_|"flakeid"/.test(await orm.schema.getDropSchemaSQL()), 'nothing of the extension is dropped');
await orm.schema.dropSchema();
await orm.schema.refreshDatabase();
assert.equal(await orm.schema.getUpdateSchemaSQL(), '', 'all dropped, and again');

const em = orm.em.fork();
const mine = em.create(Customer, { name: 'Ann' });
const few = ['pen', 'ink'].map((item) => em.create(Purchase, { customer: mine, item }));
await em.flush();
[mine, ...few].forEach(({ id }) => made(id));
assert.deepEqual((await customersWithPurchases(em.fork(), [mine.id]))[0].purchases.getItems().map((p) => p.id), few.map((p) => p.id).sort());
await em.nativeDelete(Purchase, {});

await em.fork().insertMany(Customer, ids.map((id) => ({ id, name: 'c' })));
await em.fork().insertMany(Purchase, ids.map((id) => ({ id, customer: id, item: 'i' })));
const all = JSON.parse(JSON.stringify(await customersWithPurchases(em.fork(), ids)));
assert.deepEqual(all.map((c) => c.id), ids, 'a list as parameters, and back');
assert.deepEqual(all.flatMap((c) => c.purchases.map((p) => p.id)), ids, 'nested JSON');
const joined = await em.fork().find(Customer, { id: { $in: ids } }, { populate: ['purchases'], strategy: 'joined', orderBy: { id: 'asc' } });
assert.deepEqual(joined.flatMap((c) => c.purchases.getItems().map((p) => p.id)), ids, 'a join');
assert.equal((await em.fork().findOne(Purchase, ids[6])).id, ids[6]);
assert.equal(await lastPurchase(em.fork()), ids.at(-1), 'max()');
await pages(async (after, count) => (await purchasesAfter(em.fork(), after, count)).map((p) => p.id));

// What the page warns of
const [{ json }] = await em.execute("SELECT json_build_object('bigint', min(id), 'flake', min(id)::flake) AS json FROM purchase");
assert.deepEqual(json, { bigint: rounded, flake: ids[0] }, 'bigint in JSON is rounded, and min() is a bigint');

await orm.close();
