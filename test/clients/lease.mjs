// Ids of a program that takes its node from a coordinator.
//   node lease.mjs REALM HOLDER TTL IDS    prints that many ids; PGHOST and the like say where
import { hostname } from 'node:os';
import pg from 'pg';

const epoch = 1288834974657n; // of layout snowflake: time:41:1ms node:10 sequence:12

// A node for a while. It counts after COMMIT only, and every statement here is a transaction.
class Lease {
    constructor(client, ttl) {
        Object.assign(this, { client, ttl });
    }

    async take(realm, holder) {
        const { rows } = await this.client.query(
            'SELECT node, token, lease_start, lease_end FROM flakeid.lease_acquire($1, $2, $3::int * interval \'1 s\', max_node => 1023)',
            [realm, holder, this.ttl]);
        const [row] = rows;
        this.node = BigInt(row.node);
        this.token = row.token;
        this.start = BigInt(row.lease_start.getTime());
        this.end = BigInt(row.lease_end.getTime());
        this.renewAt = performance.now() + (this.ttl * 1000) / 3;
    }

    // Until the end ids go on when this fails.
    async renew() {
        const { rows } = await this.client.query(
            'SELECT flakeid.lease_renew($1, $2::int * interval \'1 s\', $3) AS lease_end',
            [this.token, this.ttl, new Date(Number(this.end))]);
        this.end = BigInt(rows[0].lease_end.getTime());
        this.renewAt = performance.now() + (this.ttl * 1000) / 3;
    }

    async release(lastStamp) {
        await this.client.query('SELECT flakeid.lease_release($1, $2)', [this.token, new Date(Number(lastStamp))]);
    }
}

// Ids of a lease, always larger than the one before. They never run ahead of the clock.
class Ids {
    constructor(lease) {
        this.lease = lease;
        this.tick = lease.start - 1n;
        this.sequence = 4095n;
    }

    // undefined when the tick is full: try again in a millisecond.
    next() {
        const now = BigInt(Date.now());
        let tick = this.tick;
        let sequence = this.sequence + 1n;
        if (now > tick) {
            tick = now;
            sequence = 0n;
        } else if (sequence > 4095n) {
            return undefined;
        }
        if (tick < this.lease.start || tick >= this.lease.end) {
            throw new Error(`the clock lies outside the lease of node ${this.lease.node}`);
        }
        this.tick = tick;
        this.sequence = sequence;
        return ((tick - epoch) << 22n) | (this.lease.node << 12n) | sequence;
    }
}

const [realm, holder, ttl, count] = process.argv.slice(2);
const client = new pg.Client();
await client.connect();
const lease = new Lease(client, Number(ttl));
await lease.take(realm, `${holder} on ${hostname()}`);
const ids = new Ids(lease);

let lines = [];
for (let made = 0; made < Number(count);) {
    const id = ids.next();
    if (id !== undefined) {
        lines.push(id);
        made++;
    }
    if (lines.length === 10000 || made === Number(count)) {
        process.stdout.write(`${lines.join('\n')}\n`);
        lines = [];
    }
    if (id === undefined) {
        await new Promise((resolve) => setTimeout(resolve, 1));
    }
    if (performance.now() >= lease.renewAt) {
        await lease.renew();
    }
}
await lease.release(ids.tick);
await client.end();
