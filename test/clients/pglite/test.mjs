// Ids, readers, vectors of Randflake, partitions, and two instances on copies of one directory.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from './open.mjs';

const directory = mkdtempSync(join(tmpdir(), 'pglite-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
const db = await open(join(directory, 'one'));
const row = async (sql, from = db) => (await from.query(sql)).rows[0];
console.log(`version: PGlite with PostgreSQL ${(await row("SELECT current_setting('server_version') AS version")).version}`);

// Ids
await db.exec('CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT flake_next(), item text)');
await db.exec("INSERT INTO orders (item) VALUES ('pen'), ('ink')");
const made = await row('SELECT count(*) AS all, count(DISTINCT id) AS different, bool_and(id > before) IS NOT FALSE AS rising FROM (SELECT id, lag(id) OVER () AS before FROM flake_next_many(20000) AS id) AS made');
assert.deepEqual(made, { all: 20000, different: 20000, rising: true });
let last = 0n;
for (let i = 0; i < 1000; i++) {
    const id = BigInt((await row('SELECT flake_next() AS id')).id);
    assert.ok(id > last);
    last = id;
}
await db.exec("INSERT INTO flakeid_plain.settings VALUES ('node', '5') ON CONFLICT (name) DO UPDATE SET value = excluded.value");
assert.deepEqual(await row('SELECT flake_node(flake_next()) AS node'), { node: 5 });
assert.equal((await row("SELECT count(*) AS count FROM orders WHERE flake_in_range(id, tstzrange(now() - interval '1 hour', NULL))")).count, 2);

// Readers
const near = await row("SELECT abs(extract(epoch FROM clock_timestamp() - flake_timestamp(flake_next()))) < 60 AS near, flake_sequence(1050118621198921728, 'twitter') AS sequence, flake_timestamp(1050118621198921728, 'twitter') AS at");
assert.deepEqual([near.near, near.sequence, near.at.toISOString()], [true, 0, '2018-10-10T20:19:24.211Z']);
const [head, ...lines] = readFileSync('../../vectors/randflake.csv', 'utf8').trim().split('\n').map(line => line.split(','));
assert.ok(lines.length >= 100);
for (const line of lines) {
    const { secret_hex, raw_id, encrypted_id, unix_seconds, node, sequence, base32hex } = Object.fromEntries(head.map((name, i) => [name, line[i]]));
    assert.deepEqual(await row(`SELECT flake_encrypt(${raw_id}, '\\x${secret_hex}')::text AS there, flake_decrypt(${encrypted_id}, '\\x${secret_hex}')::text AS back,
        flake_from_text('${base32hex}', 'base32hex')::text AS read`), { there: encrypted_id, back: raw_id, read: encrypted_id });
    // Deciphered, it is read as one of a plain layout, which has no negative ids.
    if (BigInt(raw_id) < 0n) continue;
    const layout = "'time:30:1s node:17 sequence:17 epoch=2024-10-27T03:33:20Z'";
    assert.deepEqual(await row(`SELECT extract(epoch FROM flake_timestamp(${raw_id}, ${layout}))::bigint::text AS at, flake_node(${raw_id}, ${layout})::text AS node,
        flake_sequence(${raw_id}, ${layout})::text AS sequence`), { at: unix_seconds, node, sequence });
}

// Partitions
await db.exec('CREATE TABLE events (id bigint PRIMARY KEY DEFAULT flake_next(), what text)');
await db.exec("INSERT INTO events (what) SELECT 'event ' || n FROM generate_series(1, 1000) AS n");
await db.exec("CALL flakeid_plain.partition('events', every => '1 month')");
await db.exec("INSERT INTO events (what) VALUES ('later')");
assert.equal((await row('SELECT count(*) AS count FROM events')).count, 1001);
assert.ok((await row("SELECT count(*) AS count FROM flakeid_plain.partitions WHERE parent = 'events'::regclass")).count > 1);
await db.exec('CALL flakeid_plain.maintain()');

// A copy of the directory goes on as a database of its own only with a node of its own.
await db.close();
cpSync(join(directory, 'one'), join(directory, 'two'), { recursive: true });
const [one, two] = await Promise.all(['one', 'two'].map(name => open(join(directory, name))));
await two.exec("UPDATE flakeid_plain.settings SET value = '6' WHERE name = 'node'");
const ids = new Set();
for (let i = 0; i < 500; i++) for (const copy of [one, two]) {
    const { id } = await row('SELECT flake_next()::text AS id', copy);
    assert.ok(BigInt(id) > last, 'ids of a copy lie above those of its past');
    ids.add(id);
}
assert.equal(ids.size, 1000);
await Promise.all([one.close(), two.close()]);
