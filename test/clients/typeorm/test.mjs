import assert from 'node:assert/strict';
import { ids, made, pages, rounded, shown, strangers, version } from '../check.mjs';
import { Customer, Invoice, Payment, Purchase, Reply, Ticket, addCustomer, addPurchases, customersWithPurchases, findTicket, lastPurchase, purchasesAfter, source } from './shop.mjs';

version('typeorm', 'pg');
// A migration as `typeorm migration:generate` writes it: the statements of the difference.
const difference = async () => (await db.driver.createSchemaBuilder().log()).upQueries.map((q) => q.query);

const db = source();
await db.initialize();
const create = await difference();
assert.equal(create.filter((q) => /CREATE TABLE/.test(q)).length, 6);
assert.ok(create.every((q) => !/DROP/.test(q)), 'the first migration drops nothing');
await db.synchronize();
shown('create');
assert.deepEqual(await difference(), [], 'the second difference is empty');
shown('second run');
await db.dropDatabase();
assert.deepEqual(await difference(), create, 'all dropped, and again');
await db.query(`DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE EXTENSION IF NOT EXISTS flakeid`);
assert.deepEqual(await difference(), create, 'also with the schema');
await db.synchronize();
assert.deepEqual(await difference(), []);
shown('drop and reload');
const runner = db.createQueryRunner();
assert.deepEqual((await runner.getTables()).map((t) => t.name).filter((t) => /^public\./.test(t) || !/\./.test(t)).sort(), ['customer', 'invoice', 'payment', 'purchase', 'reply', 'ticket'], 'introspection names the tables of the user');
await runner.release();

const mine = await addCustomer(db, 'Ann');
made(mine.id);
const few = await addPurchases(db, mine.id, ['pen', 'ink']);
few.forEach((p) => made(p.id));
assert.deepEqual((await customersWithPurchases(db, [mine.id]))[0].purchases.map((p) => p.id), few.map((p) => p.id).sort());
await db.getRepository(Purchase).clear();

await db.getRepository(Customer).insert(ids.map((id) => ({ id, name: 'c' })));
await db.getRepository(Purchase).insert(ids.map((id) => ({ id, customer_id: id, item: 'i' })));
const all = JSON.parse(JSON.stringify(await customersWithPurchases(db, ids)));
assert.deepEqual(all.map((c) => c.id), ids, 'a list as parameters, and back');
assert.deepEqual(all.flatMap((c) => c.purchases.map((p) => p.id)), ids, 'nested JSON');
assert.equal((await db.getRepository(Purchase).findOneBy({ id: ids[6] })).id, ids[6]);
assert.equal(await lastPurchase(db), ids.at(-1), 'max()');
await pages(async (after, count) => (await purchasesAfter(db, after, count)).map((p) => p.id));

// Sealed ids are texts.
const ticket = await db.getRepository(Ticket).save({ item: 'tea' });
assert.match(ticket.id, /^[0-9a-v]{13}$/);
await db.getRepository(Reply).save({ ticket_id: ticket.id });
assert.equal((await db.getRepository(Reply).findOne({ where: { ticket_id: ticket.id }, relations: { ticket: true } })).ticket.item, 'tea');
assert.equal((await findTicket(db, ticket.id)).item, 'tea');
for (const text of strangers) {
    assert.equal(await findTicket(db, text), null, text);
}
const invoice = await db.getRepository(Invoice).save({ item: 'tea' });
made(invoice.id);
await db.getRepository(Payment).save({ invoice_id: invoice.id });
assert.equal((await db.getRepository(Payment).findOne({ where: { invoice_id: invoice.id }, relations: { invoice: true } })).invoice.item, 'tea');

// What tests make for themselves
await db.query(`CREATE DATABASE test_typeorm TEMPLATE ${process.env.FLAKEID_TEMPLATE}`);
const testing = source({ url: process.env.DATABASE_URL.replace(/[^/]*$/, 'test_typeorm') });
await testing.initialize();
await testing.query('CREATE EXTENSION IF NOT EXISTS flakeid');
await testing.synchronize(true);
await testing.getRepository(Reply).save({ ticket_id: (await testing.getRepository(Ticket).save({ item: 'tea' })).id });
await testing.destroy();
await db.query('DROP DATABASE test_typeorm');
shown('test database');

// What the page warns of
assert.equal(await db.getRepository(Purchase).maximum('id', { id: ids[0] }), rounded, 'repository.maximum() rounds');
const [{ json }] = await db.query("SELECT json_build_object('bigint', min(id), 'flake', min(id)::flake) AS json FROM purchase");
assert.deepEqual(json, { bigint: rounded, flake: ids[0] }, 'bigint in JSON is rounded, and min() is a bigint');
await db.destroy();
