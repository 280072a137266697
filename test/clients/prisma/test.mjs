import assert from 'node:assert/strict';
import { ids, made, pages, rounded, version } from '../check.mjs';
import * as shop from './shop.mjs';

version('prisma', '@prisma/adapter-pg', 'pg');
const { prisma } = shop;
const numbers = ids.map(BigInt);

const mine = await shop.addCustomer('Ann', ['pen', 'ink']);
[mine, ...mine.purchases].forEach(({ id }) => made(id));
await prisma.purchase.deleteMany();

await prisma.customer.createMany({ data: numbers.map((id) => ({ id, name: 'c' })) });
await prisma.purchase.createMany({ data: numbers.map((id) => ({ id, customer_id: id, item: 'i' })) });
const all = await shop.customersWithPurchases(numbers);
assert.deepEqual(all.map((c) => c.id), numbers, 'a list as parameters, and back');
assert.deepEqual(all.flatMap((c) => c.purchases.map((p) => p.id)), numbers, 'nested');
assert.deepEqual(JSON.parse(JSON.stringify(all)).flatMap((c) => c.purchases.map((p) => p.id)), ids, 'as JSON');
assert.equal((await prisma.purchase.findUnique({ where: { id: numbers[6] } })).id, numbers[6]);
assert.equal(await shop.lastPurchase(), numbers.at(-1), 'max()');
await pages(async (after, count) => (await shop.purchasesAfter(BigInt(after), count)).map((p) => p.id));
const byCursor = await prisma.purchase.findMany({ cursor: { id: numbers[6] }, skip: 1, take: 7, orderBy: { id: 'asc' } });
assert.deepEqual(byCursor.map((p) => p.id), numbers.slice(7, 14), 'a cursor');

// What the page warns of
const [{ json }] = await prisma.$queryRaw`SELECT json_agg(id ORDER BY id) AS json FROM purchase`;
assert.equal(json[0], rounded, 'bigint in JSON is rounded');
const [{ flakes, max, last }] = await prisma.$queryRaw`
    SELECT json_agg(id::flake ORDER BY id) AS flakes, to_json(max(id)::flake) AS max, max(id) AS last FROM purchase`;
assert.deepEqual(flakes, ids, 'a flake is not');
assert.equal(max, ids.at(-1), 'max() as a flake');
assert.equal(last, numbers.at(-1), 'max() on its own');

await prisma.$disconnect();
