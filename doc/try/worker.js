// PostgreSQL, beside the page, so that a long statement does not freeze it. The page sends { start } or { run }; the answers are { progress },
// { stage }, { started }, one { result } a statement, { done } or { failed }.
import { PGlite } from './pglite/index.js';
import sizes from './sizes.js';
import split from './split.js';

const SETUP = `SET search_path = public, flakeid_plain;
SET timezone = 'UTC';
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT flake_next(), item text);
INSERT INTO orders (item) VALUES ('pen'), ('ink')`;
const NUMBERS = [20, 21, 23, 700, 701, 1700];
const SHOWN_AS_WRITTEN = [...NUMBERS, 16, 17, 25, 114, 1082, 1114, 1184, 3802];
const MOST_ROWS = 200;
let db, got = 0;
const tell = message => postMessage(message);

// What a .gz holds. Some servers say that it is an encoding, and then the browser has unpacked it.
async function load(path, type) {
    const response = await fetch(path);
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
    const chunks = [];
    for (const reader = response.body.getReader(); ;) {
        const { done, value } = await reader.read();
        if (done) break;
        chunks.push(value);
        got += value.length;
        tell({ progress: Math.min(1, got / sizes.bytes) });
    }
    let blob = new Blob(chunks);
    const [first, second] = new Uint8Array(await blob.slice(0, 2).arrayBuffer());
    if (first === 0x1f && second === 0x8b) blob = await new Response(blob.stream().pipeThrough(new DecompressionStream('gzip'))).blob();
    return new Blob([blob], { type });
}

async function start() {
    const compiled = async path => WebAssembly.compile(await (await load(path, 'application/wasm')).arrayBuffer());
    const [pgliteWasmModule, initdbWasmModule, fsBundle, ids, tables] = await Promise.all([compiled('pglite/pglite.wasm.gz'), compiled('pglite/initdb.wasm.gz'),
        load('pglite/pglite.data.gz'), load('flakeid_plain.sql.gz'), load('flakeid_plain_tables.sql.gz')]);
    tell({ stage: 'Starting PostgreSQL…' });
    db = await PGlite.create({ pgliteWasmModule, initdbWasmModule, fsBundle, parsers: Object.fromEntries(SHOWN_AS_WRITTEN.map(type => [type, text => text])) });
    tell({ stage: 'Loading flakeid…' });
    for (const sql of [await ids.text(), await tables.text(), SETUP]) await db.exec(sql);
    return (await db.query("SELECT current_setting('server_version') AS version")).rows[0].version;
}

const shown = value => value === null ? null : Array.isArray(value) ? `{${value}}` : typeof value === 'object' ? JSON.stringify(value) : String(value);

// Runs a statement at a time, because what commits by itself, as partition() does, cannot stand in one string with others. The first
// error ends it.
async function run(sql) {
    for (const statement of split(sql)) {
        const notices = [], began = performance.now();
        const onNotice = notice => notices.push(`${notice.severity}: ${notice.message}`);
        try {
            const [result] = (await db.exec(statement, { rowMode: 'array', onNotice })).slice(-1);
            tell({ result: { statement, notices, ms: performance.now() - began, affected: result?.affectedRows, count: result?.rows.length ?? 0,
                fields: (result?.fields ?? []).map(({ name, dataTypeID }) => ({ name, number: NUMBERS.includes(dataTypeID) })),
                rows: (result?.rows ?? []).slice(0, MOST_ROWS).map(row => row.map(shown)) } });
        } catch ({ message, detail, hint }) {
            return tell({ result: { statement, notices, error: { message, detail, hint } } });
        }
    }
}

onmessage = async ({ data }) => {
    try {
        if (data.start) tell({ started: await start() });
        else { await run(data.run); tell({ done: true }); }
    } catch (error) {
        tell({ failed: error.message });
    }
};
