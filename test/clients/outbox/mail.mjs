import { FlakeOutbox } from './flake_outbox.mjs';

const outbox = new FlakeOutbox({
    consumer: 'mail',
    work: async (client, rows) => {
        for (const { id, body } of rows) {
            await client.query('INSERT INTO mail (outbox_id, body) VALUES ($1, $2)', [id, body]);
        }
    },
});
process.on('SIGTERM', () => outbox.stop());
await outbox.run();
