// The rules of doc/try/core.js against test/vectors, and how the prompt cuts statements.   node --test test/try/core.mjs, with SITE of packaging/try
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import test from 'node:test';
import { pathToFileURL } from 'node:url';

const site = pathToFileURL(`${process.env.SITE}/`);
const core = await import(new URL('core.js', site));
const presets = (await import(new URL('presets.js', site))).default.map(preset => ({ ...preset, layout: core.layout(preset.text) }));
const text = Object.fromEntries(presets.map(({ name, text }) => [name, text]));
const same = (one, other, what) => assert.equal(String(one), String(other), what);

function rows(name) {
    const [head, ...lines] = readFileSync(new URL(`../vectors/${name}.csv`, import.meta.url), 'utf8').trim().split('\n').map(line => line.split(','));
    assert.ok(lines.length > 0, name);
    return lines.map(line => Object.fromEntries(head.map((column, i) => [column, line[i]])));
}
const read = (layout, id, keys) => core.read(core.layout(layout), BigInt(id), keys);
function parts(found, us, node, sequence) { same(found.us, us); same(found.node, node); same(found.sequence, sequence); }

test('ids of bwmarrin, and their texts', () => {
    for (const row of rows('bwmarrin')) {
        parts(read(text.snowflake, row.id), BigInt(row.unix_ms) * 1000n, row.node, row.step);
        for (const form of ['base2', 'base32', 'base36', 'base58', 'base64']) {
            same(core.toText(BigInt(row.id), form), row[form]);
            same(core.fromText(row[form], form), row.id);
        }
    }
});
test('every text form, both ways', () => {
    for (const row of rows('text')) for (const form of Object.keys(core.FORMS)) {
        same(core.toText(BigInt(row.id), form), row[form]);
        same(core.fromText(row[form], form), row.id, `${form} ${row[form]}`);
    }
});
test('a wrong spelling is refused, not read as another id', () => {
    for (const [spelling, form] of [['', 'base62'], ['0A', 'base62'], ['8000000000000000 ', 'base16'], ['P000000000000', 'base32crockford'], ['zzzzzzzzzzzz', 'base58'],
        ['AAAAAAAAAAB', 'base64url'], ['18446744073709551616', 'decimal'], ['-9223372036854775809', 'decimal'], ['MDE=', 'base64']]) same(core.fromText(spelling, form), null, `${form} ${spelling}`);
});
test('ids of Randflake under their secrets', () => {
    for (const row of rows('randflake')) {
        const found = read(text.randflake, row.encrypted_id, core.roundKeys(row.secret_hex));
        same(core.signed(found.raw), row.raw_id);
        parts(found, BigInt(row.unix_seconds) * 1000000n, row.node, row.sequence);
        same(core.fromText(row.base32hex, 'base32hex'), row.encrypted_id);
    }
});
test('ids of Sonyflake', () => {
    for (const row of rows('sonyflake_v1')) {
        const found = read(text.sonyflake, row.id);
        same(found.fields[0].value, row['time_10ms_since_2014-09-01']);
        parts(found, found.us, row.machine, row.sequence);
    }
    for (const row of rows('sonyflake_v2')) {
        const layout = `time:${63 - row.bits_sequence - row.bits_machine}:${row.time_unit_ms}ms sequence:${row.bits_sequence} machine:${row.bits_machine} epoch=${row.start_unix_ms}ms`;
        parts(read(layout, row.id), BigInt(row.unix_ms) * 1000n, row.machine, row.sequence);
    }
});
test('ids of CockroachDB, which have no sequence', () => {
    for (const row of rows('cockroachdb')) parts(read(text.cockroachdb, row.id), row.unix_us, row.node, 0);
});
test('ids of Baidu', () => {
    for (const row of rows('uidgenerator')) {
        const layout = `time:${row.time_bits}:1s worker:${row.worker_bits} sequence:${row.seq_bits} epoch=2016-05-19T16:00:00Z`;
        parts(read(layout, row.id), BigInt(row.unix_seconds) * 1000000n, row.worker, row.sequence);
    }
});

test('what an id may be is what flake_guess() says', () => {
    for (const { id, now_ms, secret_hex, guesses, source } of rows('guess')) {
        const found = core.guess(presets, BigInt(id), BigInt(now_ms) * 1000n, secret_hex ? core.roundKeys(secret_hex) : null);
        same(found.map(({ name }) => name).join(' '), guesses, `${id} ${source}`);
    }
});

test('the text of each preset is its normal text', () => {
    for (const { name, text, layout } of presets) same(layout.text, text, name);
});
test('what each preset allows is what view flakeid.layouts says', () => {
    const table = readFileSync(new URL('../../expected/status.out', import.meta.url), 'utf8').match(/^ +name +\| recommended .*\n[-+]+\n((?:.*\|.*\n)+)/m)[1];
    const said = table.trim().split('\n').map(line => line.split('|').map(column => column.trim()));
    assert.equal(said.length, presets.length);
    for (const [name, , layout, idsPerSecond, nodes, first, end] of said) {
        const gives = core.measures(core.layout(text[name]));
        same(layout, text[name]);
        same(gives.perSecond, idsPerSecond, name);
        same(gives.nodes, nodes, name);
        same(core.layout(text[name]).epoch / 1000n, Date.parse(first), name);
        same(gives.end / 1000n, Date.parse(end), name);
    }
});
test('what JavaScript holds exactly', () => {
    const exact = layout => core.measures(core.layout(layout)).exact;
    assert.equal(exact(text.js53), 'always');
    assert.equal(exact(text.randflake), null);
    assert.equal(exact(text.rollback3), null);
    const until = core.layout(text.snowflake).epoch + (1n << 31n) * 1000n;      // the tick of which the first id is 2^53
    assert.equal(exact(text.snowflake), until);
});
test('a plain layout of 64 bits ends at its sign bit', () => {
    assert.equal(core.layout('time:52:1ms sequence:12').end, core.layout('time:51:1ms sequence:12').end);
    assert.equal(core.read(core.layout(text.mastodon), -99n), null);
});
test('a wrong layout is refused with the reason', () => {
    for (const [layout, reason] of [['', /no field/], ['time:41 sequence:12', /needs a tick/], ['node:10 sequence:12', /time is missing/], ['time:50:1ms sequence:20', /70 bits/],
        ['time:41:1ms time:1:1ms sequence:12', /time stands twice/], ['time:41:1ms sequence:12 epoch=2026-02-30', /no epoch/], ['time:41:1ms sequence:12 cipher=rot13', /only cipher/],
        ['time:41:1ms sequence:12 color=red', /no option/], ['time:20:1ms node:32 sequence:1', /node has at most 31/]]) assert.throws(() => core.layout(layout), reason, layout);
});

test('the prompt cuts statements where psql does', { skip: !existsSync(new URL('split.js', site)) && 'there is no prompt' }, async () => {
    const { default: split } = await import(new URL('split.js', site));
    assert.deepEqual(split("a; b 'x;y'; c $$ ; $$; d $q$;$q$ -- e;\n; /* ; /* ; */ ; */ f; E'\\';' g; BEGIN ATOMIC SELECT CASE WHEN 1 THEN 2 END; END; -- end"),
        ['a', "b 'x;y'", 'c $$ ; $$', 'd $q$;$q$ -- e;', '/* ; /* ; */ ; */ f', "E'\\';' g", 'BEGIN ATOMIC SELECT CASE WHEN 1 THEN 2 END; END']);
});
