import { PgBoss } from 'pg-boss';
import { FlakeOutbox } from './flake_outbox.mjs';

export const boss = new PgBoss(process.env.DATABASE_URL);
await boss.start();
await boss.createQueue('mail');

// Each event becomes a job, in the transaction that moves the place in the outbox.
export const outbox = new FlakeOutbox({
    consumer: 'boss',
    connection: process.env.DATABASE_URL,
    work: async (client, rows) => {
        const db = { executeSql: (text, values) => client.query(text, values) };
        for (const { id, body } of rows) {
            await boss.send('mail', { id, body }, { db });
        }
    },
});
