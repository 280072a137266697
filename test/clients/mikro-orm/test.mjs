import assert from 'node:assert/strict';
import { DatabaseSchema, MikroORM } from '@mikro-orm/postgresql';
import { ids, made, pages, rounded, shown, strangers, version } from '../check.mjs';
import { Customer, Invoice, Payment, Purchase, Reply, Ticket, config, customersWithPurchases, findTicket, lastPurchase, purchasesAfter } from './shop.mjs';

version('@mikro-orm/core', 'pg');
const orm = await MikroORM.init(config);
const migrator = orm.getMigrator();
const { diff: { up } } = await migrator.createMigration();
assert.equal(up.filter((s) => /create table/.test(s)).length, 6, 'the first migration creates');
assert.ok(up.every((s) => !/drop|serial/.test(s)), up.join('\n'));
await migrator.up();
shown('create');
assert.deepEqual((await migrator.createMigration()).diff.up, [], 'the second difference is empty');
assert.equal(await orm.schema.getUpdateSchemaSQL(), '');
shown('second run');
const introspected = await DatabaseSchema.create(orm.em.getConnection(), orm.em.getPlatform(), orm.config);
assert.deepEqual(introspected.getTables().map((t) => t.name).filter((name) => name !== 'mikro_orm_migrations').sort(), ['customer', 'invoice', 'payment', 'purchase', 'reply', 'ticket'], 'introspection names the tables of the user');
assert.ok(!/flake_|"flakeid"/.test(await orm.schema.getDropSchemaSQL()), 'nothing of the extension is dropped');
await orm.schema.dropSchema();
await orm.schema.refreshDatabase();
assert.equal(await orm.schema.getUpdateSchemaSQL(), '', 'all dropped, and again');
await orm.em.execute('DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE EXTENSION IF NOT EXISTS flakeid');
await migrator.up();
assert.equal(await orm.schema.getUpdateSchemaSQL(), '', 'also with the schema');
shown('drop and reload');

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

// Sealed ids are texts.
const fork = orm.em.fork();
const ticket = fork.create(Ticket, { item: 'tea' });
fork.create(Reply, { ticket });
const invoice = fork.create(Invoice, { item: 'tea' });
fork.create(Payment, { invoice });
await fork.flush();
assert.match(ticket.id, /^[0-9a-v]{13}$/);
assert.equal((await orm.em.fork().findOne(Reply, { ticket: ticket.id }, { populate: ['ticket'] })).ticket.item, 'tea');
assert.equal((await findTicket(orm.em.fork(), ticket.id)).item, 'tea');
for (const text of strangers) {
    assert.equal(await findTicket(orm.em.fork(), text), null, text);
}
made(invoice.id);
assert.equal((await orm.em.fork().findOne(Payment, { invoice: invoice.id }, { populate: ['invoice'] })).invoice.item, 'tea');

// What tests make for themselves
await orm.em.execute(`CREATE DATABASE test_mikro_orm TEMPLATE ${process.env.FLAKEID_TEMPLATE}`);
const testing = await MikroORM.init({ ...config, clientUrl: process.env.DATABASE_URL.replace(/[^/]*$/, 'test_mikro_orm') });
await testing.em.execute('CREATE EXTENSION IF NOT EXISTS flakeid');
await testing.schema.refreshDatabase();
const there = testing.em.fork();
there.create(Reply, { ticket: there.create(Ticket, { item: 'tea' }) });
await there.flush();
await testing.close();
await orm.em.execute('DROP DATABASE test_mikro_orm');
shown('test database');

// What the page warns of
const [{ json }] = await em.execute("SELECT json_build_object('bigint', min(id), 'flake', min(id)::flake) AS json FROM purchase");
assert.deepEqual(json, { bigint: rounded, flake: ids[0] }, 'bigint in JSON is rounded, and min() is a bigint');

await orm.close();
