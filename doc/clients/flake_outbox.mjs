// A consumer of an outbox: hands on every committed row once, in the order of the ids. A file to copy; it needs `pg` alone.
// doc/clients/outbox.md has the tables, and says what it promises.
//   const outbox = new FlakeOutbox({ consumer: 'mail', work: async (client, rows) => { ... } });
//   await outbox.run();    // until outbox.stop()
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

export class FlakeOutbox {
    #options;
    #stopped = false;
    #notified = false; // since the last round began
    #wake = () => {};

    // work: does what is to be done with the rows, by statements of `client`; they and the place are one transaction. Where it
    // throws, nothing of that round has happened, and the rows come again.
    // connection: what pg.Client takes. table, channel: as they stand in SQL. batch: rows in a round. wait: seconds until the next look
    // where nobody notifies. limit: seconds that the work may leave the server without a statement, before another process takes over.
    constructor({ work, consumer, connection = {}, table = 'outbox', channel = 'outbox', batch = 1000, wait = 1, limit = 60, onError = console.error }) {
        this.#options = { work, consumer, connection, table, channel, batch, wait, limit, onError };
    }

    // Goes on after whatever happens to a connection, until stop().
    async run() {
        const { connection, channel, consumer, batch, wait, limit, onError } = this.#options;
        while (!this.#stopped) {
            const client = new pg.Client({ ...(typeof connection === 'string' ? { connectionString: connection } : connection),
                connectionTimeoutMillis: 10_000, keepAlive: true, keepAliveInitialDelayMillis: 10_000 });
            client.on('error', () => this.#look()); // the next statement fails
            client.on('notification', () => this.#look());
            try {
                await client.connect();
                await client.query(`SET idle_in_transaction_session_timeout = '${Number(limit)}s'`);
                await client.query(`LISTEN ${channel}`);
                await client.query('INSERT INTO consumer (name) VALUES ($1) ON CONFLICT DO NOTHING', [consumer]);
                while (!this.#stopped) {
                    this.#notified = false;
                    if (await this.#round(client) < batch) {
                        await this.#pause(wait);
                    }
                }
            } catch (error) {
                onError(error);
                this.#notified = false;
                await this.#pause(1);
            } finally {
                client.end().catch(() => {}); // rolls back what was begun
            }
        }
    }

    // Ends run() after the round that is under way.
    stop() {
        this.#stopped = true;
        this.#look();
    }

    // Works on the next rows, and returns how many there were. Processes of one consumer take turns.
    async #round(client) {
        const { work, consumer, table, batch } = this.#options;
        // Whoever finds no row writes nothing. The mark is that of the statement which reads the rows.
        const settled = `FROM ${table} AS o WHERE o.id > c.last_seen AND o.id < flake_settled()`;
        const { rowCount } = await client.query(`SELECT FROM consumer AS c WHERE c.name = $1 AND EXISTS (SELECT ${settled})`, [consumer]);
        if (rowCount === 0) {
            return 0;
        }
        await client.query('BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE');
        await client.query('SELECT FROM consumer WHERE name = $1 FOR UPDATE', [consumer]);
        // The id is a text, whatever the type of the column.
        const { rows } = await client.query(`SELECT r.*, r.id::text AS id FROM consumer AS c,
            LATERAL (SELECT o.* ${settled} ORDER BY o.id LIMIT $2) AS r WHERE c.name = $1 ORDER BY r.id`, [consumer, batch]);
        if (rows.length > 0) {
            await work(client, rows);
            await client.query('UPDATE consumer SET last_seen = $2 WHERE name = $1', [consumer, rows.at(-1).id]);
        }
        await client.query('COMMIT');
        return rows.length;
    }

    #look() {
        this.#notified = true;
        this.#wake();
    }

    // Until somebody notifies, and so many seconds at most.
    async #pause(seconds) {
        if (!this.#notified && !this.#stopped) {
            const over = new AbortController();
            this.#wake = () => over.abort();
            await sleep(seconds * 1000, undefined, { signal: over.signal }).catch(() => {});
            this.#wake = () => {};
        }
    }
}
