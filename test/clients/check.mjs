// What the tests of all JavaScript clients share.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

// Neighbours that a JavaScript number does not tell apart: 2^53 + 1 and the 50 above it.
export const ids = Array.from({ length: 51 }, (_, i) => String(2n ** 53n + 1n + BigInt(i)));
// What becomes of the first of them where a number rounds it.
export const rounded = 2 ** 53;

// For the table of test/on_demand/clients
export function version(...packages) {
    for (const name of packages) {
        let dir = process.cwd();
        while (!existsSync(join(dir, 'node_modules', name))) {
            dir = dirname(dir);
        }
        console.log(`version: ${name} ${JSON.parse(readFileSync(join(dir, 'node_modules', name, 'package.json'))).version}`);
    }
}

// A cell of the table of doc/clients/README.md
export function shown(what) {
    console.log(`shown: ${process.env.FLAKEID_SCHEMA} ${what}`);
}

// What is no sealed id: no text of one, and a text that no row has
export const strangers = ['favicon.ico', '', '0000000000000'];

// Eight pages of seven by keyset: read(after, count) returns the ids above `after`, in their order.
export async function pages(read) {
    const seen = [];
    let after = '0';
    for (let page = 0; page < 8; page++) {
        const some = (await read(after, 7)).map(String);
        assert.equal(some.length, page < 7 ? 7 : 2, `page ${page + 1}`);
        seen.push(...some);
        after = some.at(-1);
    }
    assert.deepEqual(seen, ids, 'all ids, once and in order, on eight pages');
}

// A new id as a client shows it: exact, and a text unless the page says otherwise.
export function made(id) {
    assert.match(String(id), /^\d{18,19}$/);
    assert.ok(typeof id === 'string' || typeof id === 'bigint', `an id came as ${typeof id}`);
}
