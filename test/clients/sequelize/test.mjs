import assert from 'node:assert/strict';
import { DataTypes, Sequelize } from 'sequelize';
import { ids, made, pages, rounded, shown, strangers, version } from '../check.mjs';
import * as shop from './shop.mjs';

version('sequelize', 'pg');
const { sequelize, Customer, Purchase, Ticket, Reply, Invoice, Payment } = shop;
const all = ['customer', 'invoice', 'payment', 'purchase', 'reply', 'ticket'];
const tables = async () => (await sequelize.getQueryInterface().showAllTables()).map((t) => t.tableName ?? t).sort();
const statements = async (run) => {
    const said = [];
    sequelize.options.logging = (text) => said.push(text);
    await run();
    sequelize.options.logging = false;
    return said.filter((text) => /CREATE|DROP|ALTER/.test(text));
};
await shop.migrate();
assert.deepEqual(await tables(), all, 'the first sync creates, and introspection names the tables of the user');
shown('create');
assert.deepEqual((await statements(() => sequelize.sync({ alter: true }))).filter((text) => /DROP TABLE|TYPE (?!flake|TEXT|BIGINT)|ADD COLUMN|DROP COLUMN/.test(text)), [], 'the second changes no type, column or table');
assert.deepEqual((await sequelize.query("SELECT count(*)::int FROM information_schema.columns WHERE table_schema = 'public' AND udt_name LIKE 'flake%'"))[0], [{ count: 6 }]);
shown('second run');
await sequelize.drop();
assert.deepEqual(await tables(), [], 'all dropped');
await sequelize.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
await shop.migrate();
assert.deepEqual(await tables(), all, 'and again');
shown('drop and reload');

const mine = await shop.addCustomer('Ann');
made(mine.id);
const few = await shop.addPurchases(mine.id, ['pen', 'ink']);
few.forEach((p) => made(p.id));
assert.deepEqual((await shop.customersWithPurchases([mine.id]))[0].purchases.map((p) => p.id), few.map((p) => p.id));
await Purchase.destroy({ truncate: true });

await Customer.bulkCreate(ids.map((id) => ({ id, name: 'c' })));
await Purchase.bulkCreate(ids.map((id) => ({ id, customer_id: id, item: 'i' })));
const read = JSON.parse(JSON.stringify(await shop.customersWithPurchases(ids)));
assert.deepEqual(read.map((c) => c.id), ids, 'a list as parameters, and back');
assert.deepEqual(read.flatMap((c) => c.purchases.map((p) => p.id)), ids, 'nested JSON');
assert.deepEqual((await Customer.findAll({ where: { id: ids }, include: 'purchases', order: ['id'] })).flatMap((c) => c.purchases.map((p) => p.id)), ids, 'a join');
assert.equal((await Purchase.findByPk(BigInt(ids[6]))).id, ids[6], 'a BigInt as a parameter');
assert.equal(await shop.lastPurchase(), ids.at(-1), 'max()');
await pages(async (after, count) => (await shop.purchasesAfter(after, count)).map((p) => p.id));

// Sealed ids are texts.
const ticket = await Ticket.create({ item: 'tea' });
assert.match(ticket.id, /^[0-9a-v]{13}$/);
await Reply.create({ ticket_id: ticket.id });
assert.equal((await Reply.findOne({ where: { ticket_id: ticket.id }, include: 'ticket' })).ticket.item, 'tea');
assert.equal((await shop.findTicket(ticket.id)).item, 'tea');
for (const text of strangers) {
    assert.equal(await shop.findTicket(text), null, text);
}
const invoice = await Invoice.create({ item: 'tea' });
made(invoice.id);
await Payment.create({ invoice_id: invoice.id });
assert.equal((await Payment.findOne({ where: { invoice_id: invoice.id }, include: 'invoice' })).invoice.item, 'tea');

// What tests make for themselves
await sequelize.query(`CREATE DATABASE test_sequelize TEMPLATE ${process.env.FLAKEID_TEMPLATE}`);
const testing = new Sequelize(process.env.DATABASE_URL.replace(/[^/]*$/, 'test_sequelize'), { logging: false, define: sequelize.options.define });
for (const model of [Ticket, Reply]) {
    testing.define(model.name, model.rawAttributes);
}
await testing.query('CREATE EXTENSION IF NOT EXISTS flakeid');
await testing.sync();
await testing.models.reply.create({ ticket_id: (await testing.models.ticket.create({ item: 'tea' })).id });
await testing.close();
await sequelize.query('DROP DATABASE test_sequelize');
shown('test database');

// What the page warns of
const Plain = sequelize.define('plain', { id: { type: DataTypes.BIGINT, primaryKey: true } });
await Plain.sync();
await Plain.create({ id: ids[0] });
assert.equal(await Plain.max('id'), rounded, 'max() of BIGINT is rounded');
const [[{ json }]] = await sequelize.query("SELECT json_build_object('bigint', min(id), 'flake', min(id)::flake) AS json FROM purchase");
assert.deepEqual(json, { bigint: rounded, flake: ids[0] }, 'bigint in JSON is rounded, and min() is a bigint');

await sequelize.close();
