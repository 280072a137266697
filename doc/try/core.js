// The rules of flakeid's ids in JavaScript: layouts, fields, what an id may be, text forms, the cipher. An id is a BigInt between -2^63
// and 2^63 - 1, a moment one of microseconds since 1970. Nothing here knows of a page, so that Node.js holds it against test/vectors.

const MASK64 = (1n << 64n) - 1n;
export const signed = value => BigInt.asIntN(64, value);
const unsigned = value => BigInt.asUintN(64, value);
const low = bits => (1n << BigInt(bits)) - 1n;

// --- Layouts

const UNITS = { us: 1n, ms: 1000n, s: 1000000n, min: 60000000n, h: 3600000000n, d: 86400000000n };

// A length of time, as layouts write it.
export function tickText(us) {
    const unit = ['d', 'h', 'min', 's', 'ms', 'us'].find(unit => us % UNITS[unit] === 0n);
    return `${us / UNITS[unit]}${unit}`;
}

function readEpoch(text) {
    const date = /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?Z)?$/.exec(text);
    if (date) {
        const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = ''] = date;
        const at = new Date(0);
        at.setUTCFullYear(+year, +month - 1, +day);
        at.setUTCHours(+hour, +minute, +second, 0);
        const exists = +year > 0 && at.getUTCMonth() === +month - 1 && at.getUTCDate() === +day && +hour < 24 && +minute < 60 && +second < 60;
        return exists ? BigInt(at.getTime()) * 1000n + BigInt(fraction.padEnd(6, '0')) : null;
    }
    const number = /^(-?(?:0|[1-9]\d{0,17}))(us|ms|s|)$/.exec(text);
    return number ? BigInt(number[1]) * UNITS[number[2] || 'ms'] : null;
}

// A moment as layouts write it, in UTC; null outside the years 1 to 9999.
export function momentText(us) {
    if (us >= 253402300800000000n || us < -62135596800000000n) return null;
    const ms = us >= 0n ? us / 1000n : -((-us + 999n) / 1000n);
    const text = new Date(Number(ms)).toISOString().slice(0, -1) + String(us - ms * 1000n).padStart(3, '0');
    return text.replace(/\.?0+$/, '') + 'Z';
}

function readField(word) {
    const [, name, bits, count, unit] = /^([a-z_][a-z0-9_]{0,30}):([1-9]\d?)(?::([1-9]\d*)(us|ms|s|min|h|d))?$/.exec(word) ?? [];
    if (!name || +bits > 64) throw new Error(`“${word}” is no field: write name:bits, or time:bits:tick.`);
    if ((name === 'time') !== (count !== undefined)) throw new Error(name === 'time' ? 'time needs a tick, as in time:41:1ms.' : 'Only time has a unit.');
    const kind = ['time', 'sequence', 'back'].includes(name) ? name : 'node';
    return { name, bits: +bits, kind, tick: count && BigInt(count) * UNITS[unit] };
}

// A layout text, parsed; throws an Error with a sentence.
export function layout(text) {
    const fields = [], options = {};
    for (const word of text.trim().split(/[ \t\n\r]+/)) {
        const [, option, value] = /^([^=]*)=(.*)$/.exec(word) ?? [];
        const name = option ?? fields[fields.push(readField(word)) - 1].name;
        if (option !== undefined ? option in options : fields.filter(field => field.name === name).length > 1) throw new Error(`${name} stands twice.`);
        if (option !== undefined) options[name] = name === 'epoch' ? readEpoch(value) : value;
        if (option === 'epoch' && options.epoch === null) throw new Error(`“${word}” is no epoch.`);
        if (option === 'cipher' && value !== 'sparx64') throw new Error('The only cipher is cipher=sparx64.');
        if (option !== undefined && !['epoch', 'cipher'].includes(option)) throw new Error(`There is no option “${name}”.`);
    }
    const sum = (of, bits) => fields.filter(of).reduce((sum, field) => sum + bits(field), 0);
    const bits = sum(() => true, field => field.bits);
    if (bits > 64) throw new Error(`These are ${bits} bits, and an id has 64.`);
    if (!fields.some(({ name }) => name === 'time')) throw new Error('The field time is missing.');
    const most = { node: 31, sequence: 31, back: 7 };
    for (const kind of Object.keys(most)) if (sum(field => field.kind === kind, field => field.bits) > most[kind]) throw new Error(`${kind} has at most ${most[kind]} bits.`);
    let shift = bits;
    for (const field of fields) field.shift = shift -= field.bits;
    const enciphered = 'cipher' in options, epoch = options.epoch ?? 0n, time = fields.find(({ name }) => name === 'time');
    // The sign bit of a plain layout of 64 bits belongs to its highest field and stays zero.
    const greatest = kind => low(sum(field => field.kind === kind, field => field.bits - (bits === 64 && !enciphered && field === fields[0] ? 1 : 0)));
    const normal = [...fields.map(field => `${field.name}:${field.bits}${field.tick ? `:${tickText(field.tick)}` : ''}`), `epoch=${momentText(epoch)}`, ...(enciphered ? ['cipher=sparx64'] : [])];
    return { fields, bits, enciphered, tick: time.tick, epoch, time, maxTick: greatest('time'), maxSequence: greatest('sequence'), maxNode: greatest('node'),
        end: (greatest('time') + 1n) * time.tick + epoch, text: normal.join(' ') };
}

// An id's fields, or null where it has bits above the layout's highest field. `keys`: round keys, without which nothing enciphered is read.
export function read(layout, id, keys) {
    if (layout.enciphered && !keys) return null;
    const raw = layout.enciphered ? decipher(unsigned(id), keys) : unsigned(id);
    if (layout.bits < 64 && raw >> BigInt(layout.bits) !== 0n || layout.bits === 64 && !layout.enciphered && raw >> 63n) return null;
    const fields = layout.fields.map(field => ({ ...field, value: raw >> BigInt(field.shift) & low(field.bits) }));
    const value = name => fields.find(field => field.name === name)?.value ?? 0n;
    const node = fields.filter(({ kind }) => kind === 'node').reduce((node, field) => node << BigInt(field.bits) | field.value, 0n);
    return { raw, fields, us: value('time') * layout.tick + layout.epoch, node, sequence: value('sequence') };
}

// What a layout gives: without a sequence no ids, which are only read. `exact`: 'always' where JavaScript's numbers hold each id, the moment until which they do, or null.
export function measures(layout) {
    const shift = BigInt(layout.time.shift), perTick = layout.maxSequence + 1n;
    const exact = layout.enciphered ? null : layout.bits <= 53 ? 'always' : layout.fields[0] === layout.time ? (1n << 53n >> shift) * layout.tick + layout.epoch : null;
    return { perTick, perSecond: layout.fields.some(({ kind }) => kind === 'sequence') ? Number(perTick) * 1e6 / Number(layout.tick) : 0, nodes: layout.maxNode + 1n, end: layout.end, exact };
}

// --- What an id may be

// Ids that are younger than this, in microseconds, are equally plausible: a quarter of a year.
const YOUNG = 7889400n * UNITS.s;
const length = value => value === 0n ? 0 : value.toString(2).length;

function weightOfField({ bits, value }, even) {
    return even ? bits : value === 0n ? 1 : Math.min(length(value) + 3, bits + 2);
}

// The rule of flake_guess(): the lower the weight of a reading, the more plausible. `evenNode`, `evenSequence`: whether they are spread
// evenly; others count from 0, a node `nodeFromOne` from 1.
function weightOf({ layout, rarity, evenNode, evenSequence, nodeFromOne }, parts, nowUs) {
    const age = parts.us < nowUs ? nowUs - parts.us : 0n, even = { node: evenNode, sequence: evenSequence };
    return rarity + length((age + YOUNG) / layout.tick)
        + parts.fields.filter(({ kind }) => kind !== 'time').reduce((sum, field) => sum + weightOfField({ ...field, value: field.value - (nodeFromOne && field.kind === 'node' ? 1n : 0n) & low(field.bits) }, even[field.kind]), 0);
}

// The presets of which an id can be one at a moment, the most plausible first, as flake_guess() lists them. `presets`: name, layout and
// habits of each, in their order.
export function guess(presets, id, nowUs, keys) {
    const latest = nowUs + 5n * UNITS.s;    // flakeid.max_ahead
    return presets.map(preset => ({ ...preset, parts: read(preset.layout, id, keys) })).filter(({ parts }) => parts && parts.us <= latest)
        .map(row => ({ ...row, weight: weightOf(row, row.parts, nowUs) })).sort((one, other) => one.weight - other.weight);
}

// --- Text forms

export const FORMS = {
    base2: { digits: '01' },
    base16: { digits: '0123456789abcdef', fixed: 16 },
    base32: { digits: 'ybndrfg8ejkmcpqxot1uwisza345h769' },
    base32crockford: { digits: '0123456789ABCDEFGHJKMNPQRSTVWXYZ', fixed: 13 },
    base32hex: { digits: '0123456789abcdefghijklmnopqrstuv' },
    base36: { digits: '0123456789abcdefghijklmnopqrstuvwxyz' },
    base58: { digits: '123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ' },
    base62: { digits: '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz' },
    base64url: { digits: 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_', fixed: 11 },
    base64: null, // of the decimal text
};

export function toText(id, form) {
    if (form === 'decimal') return String(id);
    if (form === 'base64') return btoa(String(id));
    const { digits, fixed = 1 } = FORMS[form], base = BigInt(digits.length);
    let rest = unsigned(id) * (form === 'base64url' ? 4n : 1n), text = '';
    do { text = digits[Number(rest % base)] + text; rest /= base; } while (rest);
    return text.padStart(fixed, digits[0]);
}

// The id, or null for a text that toText() does not write; a decimal number may also be unsigned.
export function fromText(text, form) {
    if (form === 'decimal') {
        if (!/^-?\d{1,20}$/.test(text)) return null;
        const value = BigInt(text);
        return value >= -(1n << 63n) && value <= MASK64 ? signed(value) : null;
    }
    if (form === 'base64') {
        if (!/^[A-Za-z0-9+/]{2,28}={0,2}$/.test(text) || text.length % 4) return null;
        const value = /^-?\d{1,19}$/.test(atob(text)) ? BigInt(atob(text)) : null;
        return value !== null && value === signed(value) && btoa(String(value)) === text ? value : null;
    }
    const { digits, fixed } = FORMS[form], base = BigInt(digits.length);
    if (text === '' || fixed && text.length !== fixed || text.length > 64) return null;
    let value = 0n;
    for (const letter of text) {
        if (!digits.includes(letter)) return null;
        value = value * base + BigInt(digits.indexOf(letter));
    }
    if (form === 'base64url') { if (value & 3n) return null; value >>= 2n; }
    return value <= MASK64 && toText(value, form) === text ? signed(value) : null;
}

// --- SPARX-64/128

// The round keys of a secret of 32 hexadecimal digits.
export function roundKeys(secret) {
    const k = [...Array(8).keys()].map(i => parseInt(secret.substr(4 * i, 4), 16)), keys = [];
    for (let i = 0; i <= 16; i++) {
        keys.push(...k.slice(0, 6));
        k[0] = (k[0] << 9 | k[0] >> 7) + k[1] & 65535;
        k[1] = (k[1] << 2 | k[1] >> 14) & 65535 ^ k[0];
        k[2] = k[2] + k[0] & 65535;
        k[3] = k[3] + k[1] & 65535;
        k[7] = k[7] + i + 1 & 65535;
        k.unshift(k.pop());
        k.unshift(k.pop());
    }
    return keys;
}

// A number as four words of two bytes, the lower byte in the high half.
const swap = word => (word << 8 | word >> 8) & 65535;
const words = value => [0n, 16n, 32n, 48n].map(shift => swap(Number(value >> shift & 65535n)));
const join = parts => parts.reduce((sum, word, i) => sum | BigInt(swap(word)) << BigInt(16 * i), 0n);

// Undoes a round of the box on two words.
function unbox(x, y, k, l) {
    const mixed = x ^ y, word = (mixed << 14 | mixed >> 2) & 65535, rest = x - word & 65535;
    return [(rest << 7 | rest >> 9) & 65535 ^ k, word ^ l];
}

export function decipher(value, keys) {
    let [a, b, c, d] = words(value).map((word, i) => word ^ keys[96 + i]);
    for (let step = 7; step >= 0; step--) {
        const mix = swap(c ^ d);
        a ^= c ^ mix;
        b ^= d ^ mix;
        for (let round = 2; round >= 0; round--) {
            const at = 12 * step + 2 * round;
            [c, d] = unbox(c, d, keys[at], keys[at + 1]);
            [a, b] = unbox(a, b, keys[at + 6], keys[at + 7]);
        }
        [a, b, c, d] = [c, d, a, b];
    }
    return join([a, b, c, d]);
}
