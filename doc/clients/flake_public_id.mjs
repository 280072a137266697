// Public ids with a prefix, such as ord_cn6aqdp67ctk1, without the database. See doc/clients/public_ids.md.
//
//   const orders = new PublicIds('ord', { 0: '9f86...' });    // SELECT encode(flakeid.sealed_key(0, 'ord'), 'hex')
//   orders.seal(2124409268290453504n);                         // 'ord_cn6aqdp67ctk1'
//   orders.unseal('ord_cn6aqdp67ctk1');                        // 2124409268290453504n, or null for a text that is none
//
// Several keys: those of old texts too; `current` seals. It needs Node.js 18 or a browser, and nothing else.

const rotate = (word, bits) => (word << bits | word >>> 16 - bits) & 65535;

// The round keys of a key of 32 hexadecimal digits.
export function roundKeys(hex) {
    if (!/^[0-9a-f]{32}$/i.test(hex)) throw new TypeError('a key has 32 hexadecimal digits');
    let k = hex.match(/.{4}/g).map(word => parseInt(word, 16));
    const rounds = [];
    for (let count = 1; count <= 17; count++) {
        rounds.push(...k.slice(0, 6));
        k[0] = rotate(k[0], 9) + k[1] & 65535;
        k[1] = rotate(k[1], 2) ^ k[0];
        k[2] = k[2] + k[0] & 65535;
        k[3] = k[3] + k[1] & 65535;
        k[7] = k[7] + count & 65535;
        k = [k[6], k[7], ...k.slice(0, 6)];
    }
    return rounds;
}

// A number of 64 bits is four words, the lowest first, each with its bytes swapped.
const words = number => [0n, 16n, 32n, 48n].map(place => rotate(Number(number >> place & 65535n), 8));
const join = parts => parts.reduceRight((number, word) => number << 16n | BigInt(rotate(word, 8)), 0n);

// SPARX-64/128 of an unsigned BigInt of 64 bits.
export function encrypt(number, rounds) {
    let [a, b, c, d] = words(number);
    for (let at = 0; at < 96; at += 12) {
        [a, b, c, d] = [c, d, a, b];
        for (let key = at; key < at + 6; key += 2) {
            d ^= rounds[key + 1];
            c = rotate(c ^ rounds[key], 9) + d & 65535;
            d = rotate(d, 2) ^ c;
            b ^= rounds[key + 7];
            a = rotate(a ^ rounds[key + 6], 9) + b & 65535;
            b = rotate(b, 2) ^ a;
        }
        const mix = rotate(c ^ d, 8);
        a ^= c ^ mix;
        b ^= d ^ mix;
    }
    return join([a, b, c, d].map((word, i) => word ^ rounds[96 + i]));
}

export function decrypt(number, rounds) {
    let [a, b, c, d] = words(number).map((word, i) => word ^ rounds[96 + i]);
    for (let at = 84; at >= 0; at -= 12) {
        const mix = rotate(c ^ d, 8);
        a ^= c ^ mix;
        b ^= d ^ mix;
        for (let key = at + 4; key >= at; key -= 2) {
            d = rotate(c ^ d, 14);
            c = rotate(c - d & 65535, 7) ^ rounds[key];
            d ^= rounds[key + 1];
            b = rotate(a ^ b, 14);
            a = rotate(a - b & 65535, 7) ^ rounds[key + 6];
            b ^= rounds[key + 7];
        }
        [a, b, c, d] = [c, d, a, b];
    }
    return join([a, b, c, d]);
}

export class PublicIds {
    #prefix;
    #keys = new Map();
    #current;

    constructor(prefix, keys, current = Number(Object.keys(keys)[0])) {
        if (!/^[a-z][a-z0-9_]{0,30}$/.test(prefix)) throw new TypeError(`invalid prefix '${prefix}'`);
        this.#prefix = `${prefix}_`;
        for (const [number, hex] of Object.entries(keys)) this.#keys.set(Number(number), roundKeys(hex));
        this.#current = current;
    }

    // `id`: a BigInt, or the decimal text that drivers give.
    seal(id) {
        const digits = encrypt(BigInt.asUintN(64, BigInt(id)), this.#keys.get(this.#current)).toString(32).padStart(13, '0');
        return this.#prefix + (this.#current ? this.#current.toString(32) : '') + digits;
    }

    unseal(text) {
        if (typeof text !== 'string' || !text.startsWith(this.#prefix)) return null;
        const match = /^([1-9a-f]?)([0-9a-f][0-9a-v]{12})$/i.exec(text.slice(this.#prefix.length));
        const rounds = match && this.#keys.get(parseInt(match[1] || '0', 32));
        if (!rounds) return null;
        const word = [...match[2]].reduce((sum, digit) => sum << 5n | BigInt(parseInt(digit, 32)), 0n);
        return BigInt.asIntN(64, decrypt(word, rounds));
    }
}
