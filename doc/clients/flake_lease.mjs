// Ids that a program makes itself, on a node that it leases from a coordinator of flakeid. A file to copy; it needs `pg` alone.
// doc/clients/lease_programs.md says what it promises.
//   const ids = new FlakeIds({ holder: 'shop', layout: 'snowflake' });
//   const id = await ids.next();    // a string, as JavaScript's numbers do not hold 64 bits; at the end: await ids.close()
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

const second = 1_000_000n; // in microseconds, as all times here whose names end in Us
const aheadUs = 5n * second; // ids may lie so far ahead of the clock, as those of a server
const slewUs = second; // by so much one answer moves the clock

// Whole steps in a length of time that may be negative.
const floor = (us, unit) => (us - (((us % unit) + unit) % unit)) / unit;
const ceil = (us, unit) => -floor(-us, unit);

// How 64 bits are cut. `text` is what column layout_text of flakeid.describe() has. A word is the tick and the sequence of an id.
export class Layout {
    constructor(text, secret) {
        const words = text.trim().split(/\s+/);
        const options = Object.fromEntries(words.filter((word) => word.includes('=')).map((word) => word.split('=')));
        const fields = words.filter((word) => !word.includes('=')).map((word) => word.split(':'))
            .map(([name, bits, unit]) => ({ name, bits: BigInt(bits), unit }));
        // A plain layout of 64 bits ends before the sign bit.
        if (!options.cipher && fields.reduce((sum, { bits }) => sum + bits, 0n) === 64n) {
            fields[0].bits -= 1n;
        }
        this.parts = []; // of the node, the lowest first
        this.nodeBits = 0n;
        let shift = 0n;
        for (const { name, bits, unit } of fields.reverse()) {
            if (name === 'time') {
                Object.assign(this, { timeShift: shift, timeBits: bits, unitUs: Layout.#length(unit) });
            } else if (name === 'sequence') {
                Object.assign(this, { sequenceShift: shift, sequenceBits: bits });
            } else if (name !== 'back') { // how often a clock was set back: a lease needs no such count
                this.parts.push({ shift, from: this.nodeBits, bits });
                this.nodeBits += bits;
            }
            shift += bits;
        }
        if (!(this.unitUs <= second && this.sequenceBits !== undefined)) {
            throw new RangeError(`ids of layout "${text}" can only be read`);
        }
        const [whole, fraction = ''] = options.epoch.replace('Z', '').split('.');
        this.epochUs = BigInt(Date.parse(`${whole}Z`)) * 1000n + BigInt(fraction.padEnd(6, '0'));
        this.lastWord = (1n << (this.timeBits + this.sequenceBits)) - 1n;
        this.encrypt = options.cipher ? sparx64(secret) : (id) => id;
    }

    static #length(unit) {
        const [, count, name] = /^(\d+)(\D+)$/.exec(unit);
        return BigInt(count) * ({ us: 1n, ms: 1000n, s: second }[name] ?? second + 1n);
    }

    // The first word of the tick of a moment, of the first tick that begins after it, and the moment that a word is stamped with.
    wordAt(us) { return floor(us - this.epochUs, this.unitUs) << this.sequenceBits; }
    wordFrom(us) { return ceil(us - this.epochUs, this.unitUs) << this.sequenceBits; }
    momentUs(word) { return (word >> this.sequenceBits) * this.unitUs + this.epochUs; }

    id(word, node) {
        let id = (word >> this.sequenceBits) << this.timeShift
            | BigInt.asUintN(Number(this.sequenceBits), word) << this.sequenceShift;
        for (const { shift, from, bits } of this.parts) {
            id |= BigInt.asUintN(Number(bits), node >> from) << shift;
        }
        return BigInt.asIntN(64, this.encrypt(id));
    }
}

// SPARX-64/128 as Randflake uses it: a function that enciphers 64 bits under 32 hexadecimal digits or 16 characters.
function sparx64(secret) {
    const bytes = Buffer.from(secret ?? '', secret?.length === 32 ? 'hex' : 'latin1');
    if (bytes.length !== 16) {
        throw new RangeError('an enciphered layout needs a secret: 32 hexadecimal digits or 16 characters');
    }
    const rotate = (x, n) => ((x << n) | (x >> (16 - n))) & 0xffff;
    const mix = (x, i) => {
        x[i] = (rotate(x[i], 9) + x[i + 1]) & 0xffff;
        x[i + 1] = rotate(x[i + 1], 2) ^ x[i];
    };
    const k = Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(2 * i));
    const keys = [];
    for (let c = 0; c <= 16; c++) {
        keys.push(k.slice(0, 6));
        mix(k, 0);
        k[2] = (k[2] + k[0]) & 0xffff;
        k[3] = (k[3] + k[1]) & 0xffff;
        k[7] = (k[7] + c + 1) & 0xffff;
        k.unshift(...k.splice(6));
    }
    return (number) => {
        const block = Buffer.alloc(8);
        block.writeBigUInt64LE(BigInt.asUintN(64, number));
        let x = [0, 2, 4, 6].map((at) => block.readUInt16BE(at));
        for (let step = 0; step < 8; step++) {
            for (let half = 0; half < 2; half++) {
                for (let round = 0; round < 3; round++) {
                    x[2 * half] ^= keys[2 * step + half][2 * round];
                    x[2 * half + 1] ^= keys[2 * step + half][2 * round + 1];
                    mix(x, 2 * half);
                }
            }
            const spread = rotate(x[0] ^ x[1], 8);
            x = [x[2] ^ x[0] ^ spread, x[3] ^ x[1] ^ spread, x[0], x[1]];
        }
        x.forEach((word, i) => block.writeUInt16BE(word ^ keys[16][i], 2 * i));
        return block.readBigUInt64LE();
    };
}

// A generator of ids. Each is larger than the one before, and lies in a lease. No wall clock is read here: the time is that of the
// coordinator's answers, carried on by a clock that nobody sets. So a process that was stopped finds that its lease is over.
export class FlakeIds {
    #options;
    #layout;
    #lease; // { node, token, endUs, first, last, word }: words from first to last are this program's; word was the last id
    #token = randomUUID(); // of the next question for a lease: asked again, it gives the same lease
    #clockUs = 0n; // the time at the moment #clockAt of performance.now()
    #clockAt = 0;
    #turn = 0; // of which coordinator: the next one's, where one gives no answer
    #askAt = 0; // when the next question is due, of performance.now()
    #error;
    #keeper;
    #closing = new AbortController();

    // coordinators: what pg.Client takes, tried in turn; the default is that of PGHOST and the like. layout: a preset or a layout
    // text. ttl: seconds of a lease. timeout: seconds for a connection, and for an answer. secret: of an enciphered layout.
    constructor({ coordinators = [{}], realm = 'default', holder = 'a program', layout = 'snowflake', ttl = 60, timeout = 10, secret } = {}) {
        for (const [name, length] of Object.entries({ ttl, timeout })) {
            if (typeof length !== 'number' || !(length > 0 && length <= 86400)) {
                throw new RangeError(`${name} is ${length}: it is a number of seconds, up to a day`);
            }
        }
        holder = `${holder} on ${hostname()}:${process.pid}`;
        this.#options = { coordinators, realm, holder, layout, ttl, timeout, secret };
    }

    get node() { return this.#lease && Number(this.#lease.node); }

    // The next id, or undefined where there is none at this moment.
    tryNext() {
        this.#keeper ??= this.#keep();
        if (!this.#lease) {
            return undefined;
        }
        const lease = this.#lease;
        const nowUs = this.#nowUs();
        const tick = this.#layout.wordAt(nowUs);
        const word = tick > lease.word ? tick : lease.word + 1n;
        if (word > lease.last || word > this.#layout.wordAt(nowUs + aheadUs)) {
            return undefined;
        }
        lease.word = word;
        return String(this.#layout.id(word, lease.node));
    }

    // The next id. Where there is none for `patience` seconds, the error says why.
    async next(patience = 10) {
        for (let waits = patience * 200; ; waits--) {
            const id = this.#closing.signal.aborted ? undefined : this.tryNext();
            if (id !== undefined) {
                if (performance.now() >= this.#askAt) {
                    await turn(); // a program that does nothing but make ids leaves the keeper no other chance
                }
                return id;
            }
            if (waits <= 0 || this.#closing.signal.aborted) {
                throw new Error(this.#why(), { cause: this.#error });
            }
            await sleep(5);
        }
    }

    // Makes no more ids, and gives the node back. Where the coordinator does not hear of it, the lease runs out.
    async close() {
        this.#closing.abort();
        await this.#keeper;
        const lease = this.#lease;
        this.#lease = undefined;
        if (lease) {
            const lastUs = lease.word < lease.first ? 0n : this.#layout.momentUs(lease.word);
            await this.#ask('SELECT flakeid.lease_release($1, to_timestamp($2::float8 / 1000000))', [lease.token, lastUs])
                .catch((error) => { this.#error = error; });
        }
    }

    #why() {
        const reason = this.#closing.signal.aborted ? 'the generator is closed'
            : !this.#lease ? 'no node is leased'
                : this.#nowUs() >= this.#lease.endUs ? `the lease of node ${this.#lease.node} has ended`
                    : `layout "${this.#options.layout}" allows no more ids at this time`;
        return this.#error ? `${reason}: ${this.#error.message}` : reason;
    }

    #nowUs() { return this.#clockUs + BigInt(Math.floor((performance.now() - this.#clockAt) * 1000)); }

    // Renews at a third of the lease, up to a quarter of that earlier, and a second or two after a failure.
    async #keep() {
        const { signal } = this.#closing;
        while (!signal.aborted) {
            let pause = this.#options.ttl / 3 * (1 - Math.random() / 4);
            try {
                await this.#renew() || await this.#acquire();
                this.#error = undefined;
            } catch (error) {
                this.#error = error;
                pause = 1 + Math.random();
            }
            this.#askAt = performance.now() + pause * 1000;
            await sleep(pause * 1000, undefined, { signal, ref: false }).catch(() => {});
        }
    }

    // Whether the lease goes on. One that the coordinator refuses serves until its end, unless there is another before.
    async #renew() {
        const lease = this.#lease;
        if (!lease) {
            return false;
        }
        try {
            const { end, now } = await this.#ask(`SELECT extract(epoch FROM r)::int8 AS end, (extract(epoch FROM clock_timestamp()) * 1000000)::int8 AS now
                FROM flakeid.lease_renew($1, $2::float8 * interval '1 s', to_timestamp($3::float8)) AS r`,
            [lease.token, this.#options.ttl, lease.endUs / second]);
            this.#setEnd(lease, BigInt(end) * second);
            // A coordinator whose clock is wrong does not carry the time off.
            const by = BigInt(now) - this.#nowUs();
            this.#setClock(this.#nowUs() + (by > slewUs ? slewUs : by < -slewUs ? -slewUs : by));
            return true;
        } catch (error) {
            if (error.code === '55000') {
                return false;
            }
            throw error;
        }
    }

    async #acquire() {
        const { realm, holder, ttl, layout, secret } = this.#options;
        this.#layout ??= new Layout((await this.#ask('SELECT layout_text FROM flakeid.describe($1)', [layout])).layout_text, secret);
        const token = this.#token;
        const row = await this.#ask(`SELECT node, extract(epoch FROM lease_start)::int8 AS start, extract(epoch FROM lease_end)::int8 AS end,
            (extract(epoch FROM clock_timestamp()) * 1000000)::int8 AS now
            FROM flakeid.lease_acquire($1, $2, $3::float8 * interval '1 s', max_node => $4, token => $5)`,
        [realm, holder, ttl, (1n << this.#layout.nodeBits) - 1n, token])
            .catch((error) => {
                this.#token = error.code === '42710' ? randomUUID() : token; // that lease has ended
                throw error;
            });
        const [startUs, nowUs] = [BigInt(row.start) * second, BigInt(row.now)];
        this.#token = randomUUID();
        if (startUs > nowUs + aheadUs) {
            await this.#ask('SELECT flakeid.lease_release($1, to_timestamp(0))', [token]);
            throw new Error(`the lease of node ${row.node} begins ahead of the coordinator's clock`);
        }
        // Ids go on rising from one lease to the next, unless a clock that was wrong is right again.
        let first = this.#layout.wordFrom(startUs);
        first = first < 0n ? 0n : first;
        const after = this.#lease ? ((this.#lease.word >> this.#layout.sequenceBits) + 1n) << this.#layout.sequenceBits : first;
        if (after > first && after <= this.#layout.wordAt(nowUs + aheadUs)) {
            first = after;
        }
        const lease = { node: BigInt(row.node), token, first, word: first - 1n };
        this.#setEnd(lease, BigInt(row.end) * second);
        this.#setClock(nowUs);
        this.#lease = lease;
    }

    #setEnd(lease, endUs) {
        lease.endUs = endUs;
        const last = (floor(endUs - this.#layout.epochUs, this.#layout.unitUs) << this.#layout.sequenceBits) - 1n;
        lease.last = last < this.#layout.lastWord ? last : this.#layout.lastWord;
    }

    #setClock(us) {
        this.#clockUs = us;
        this.#clockAt = performance.now();
    }

    // Asks one question over a connection of its own, and returns the row of the answer. No answer in time is none, and so is one
    // with a warning: it was cut short while it waited for a standby.
    async #ask(sql, values) {
        const { coordinators, timeout } = this.#options;
        const where = coordinators[this.#turn % coordinators.length];
        const client = new pg.Client({ ...(typeof where === 'string' ? { connectionString: where } : where), connectionTimeoutMillis: timeout * 1000 });
        client.on('error', () => {}); // the question fails too
        try {
            await client.connect();
            let warning;
            client.on('notice', (notice) => { warning = notice; });
            const { rows } = await client.query({ text: sql, values: values.map(String), query_timeout: timeout * 1000 });
            if (warning) {
                throw warning;
            }
            return rows[0];
        } catch (error) {
            this.#turn += ['55000', '42710'].includes(error.code) ? 0 : 1; // a refusal is an answer
            throw error;
        } finally {
            client.end().catch(() => {});
        }
    }
}
