// With the extension in public, everything but dropDatabase() works.
import assert from 'node:assert/strict';
import { source } from './shop.mjs';

const db = source();
const difference = async () => (await db.driver.createSchemaBuilder().log()).upQueries.map((q) => q.query);
await db.initialize();
assert.ok((await difference()).every((q) => !/DROP/.test(q)), 'the first migration drops nothing');
await db.synchronize();
assert.deepEqual(await difference(), [], 'the second difference is empty');

const views = (await db.query("SELECT viewname FROM pg_views WHERE schemaname = 'public'")).map((v) => v.viewname);
const runner = db.createQueryRunner();
const names = (await runner.getTables()).map((t) => t.name).filter((name) => !/\./.test(name) && !views.includes(name));
await runner.release();
assert.deepEqual(names.sort(), ['customer', 'purchase'], 'introspection names the tables of the user');
await assert.rejects(db.dropDatabase(), /extension flakeid requires it/, 'it tries to drop the views of the extension');
await db.destroy();
