// Known answers of others (test/vectors): prints how many ids are as they say.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Layout } from './flake_lease.mjs';

function rows(name) {
    const [head, ...lines] = readFileSync(`../../vectors/${name}.csv`, 'utf8').trim().split('\n').map((line) => line.split(','));
    return lines.map((line) => Object.fromEntries(head.map((column, i) => [column, line[i]])));
}

let count = 0;
// tick: of the time field, in its units since the epoch
function check(id, text, tick, node, sequence, secret) {
    const layout = new Layout(text, secret);
    assert.equal(layout.id(BigInt(tick) << layout.sequenceBits | BigInt(sequence), BigInt(node)), BigInt(id), text);
    count++;
}

for (const row of rows('bwmarrin')) {
    check(row.id, 'time:41:1ms node:10 sequence:12 epoch=2010-11-04T01:42:54.657Z', row.unix_ms - 1288834974657, row.node, row.step);
}
for (const row of rows('sonyflake_v1')) {
    check(row.id, 'time:39:10ms sequence:8 machine:16 epoch=2014-09-01T00:00:00Z', row['time_10ms_since_2014-09-01'], row.machine, row.sequence);
}
for (const row of rows('sonyflake_v2')) {
    const bits = 63 - row.bits_sequence - row.bits_machine;
    check(row.id, `time:${bits}:${row.time_unit_ms}ms sequence:${row.bits_sequence} machine:${row.bits_machine} epoch=${new Date(Number(row.start_unix_ms)).toISOString()}`,
        Math.floor((row.unix_ms - row.start_unix_ms) / row.time_unit_ms), row.machine, row.sequence);
}
for (const row of rows('uidgenerator')) {
    check(row.id, `time:${row.time_bits}:1s worker:${row.worker_bits} sequence:${row.seq_bits} epoch=2016-05-19T16:00:00Z`,
        row.unix_seconds - 1463673600, row.worker, row.sequence);
}
for (const row of rows('randflake')) {
    check(row.encrypted_id, 'time:30:1s node:17 sequence:17 epoch=2024-10-27T03:33:20Z cipher=sparx64',
        row.unix_seconds - 1730000000, row.node, row.sequence, row.secret_hex);
}
for (const readOnly of ['time:48:10us node:15 epoch=2015-01-01T00:00:00Z', 'time:41:2s node:10 sequence:12 epoch=2015-01-01T00:00:00Z']) {
    assert.throws(() => new Layout(readOnly), /can only be read/, readOnly);
}
console.log(count);
