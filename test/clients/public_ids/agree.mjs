// Held against the rows of prefixed.csv: agree.mjs FILE
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { PublicIds } from './flake_public_id.mjs';

const subkey = (hex, purpose) => createHmac('sha256', Buffer.from(hex, 'hex')).update(purpose).digest('hex').slice(0, 32);

let rows = 0;
for (const line of readFileSync(process.argv[2], 'utf8').trim().split('\n').slice(1)) {
    const [secret, number, prefix, decimal, text] = line.split(',');
    const id = BigInt(decimal);
    const sealed = subkey(secret, `flakeid sealed ${number}`);
    const ids = new PublicIds(prefix, { [number]: subkey(sealed, `flakeid prefix ${prefix}`) });
    assert.equal(ids.seal(id), text);
    assert.equal(ids.unseal(text), id);
    const digits = text.slice(prefix.length + 1);
    assert.equal(ids.seal(decimal), text);
    assert.equal(ids.unseal(`${prefix}_${digits.toUpperCase()}`), id);
    assert.notEqual(new PublicIds('other', { [number]: subkey(sealed, 'flakeid prefix other') }).unseal(`other_${digits}`), id);
    const bad = ['', prefix, digits, `other_${digits}`, text.toUpperCase(), `${text} `, `${text}\n`, ` ${text}`, `${prefix}_z${digits.slice(1)}`,
        `${prefix}_0${digits}`.slice(0, prefix.length + 15), `${prefix}_g000000000000`, `${prefix}_7${digits.slice(-13)}`, null, undefined, 5];
    for (const wrong of bad) assert.equal(ids.unseal(wrong), null, wrong);
    rows++;
}
console.log(rows);
