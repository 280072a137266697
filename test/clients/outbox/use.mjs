// Consumes the outbox into table done. With DIES=SIGKILL or DIES=SIGSTOP that happens to the process in its first round with rows.
//   node use.mjs CONSUMER ['{"batch": 10}']
import { FlakeOutbox } from './flake_outbox.mjs';

const [consumer, options = '{}'] = process.argv.slice(2);
const outbox = new FlakeOutbox({
    consumer,
    ...JSON.parse(options),
    work: async (client, rows) => {
        for (const { id, body } of rows) {
            await client.query('INSERT INTO done (consumer, process, id, body) VALUES ($1, $2, $3, $4)', [consumer, process.pid, id, body]);
        }
        if (process.env.DIES) {
            process.kill(process.pid, process.env.DIES);
            delete process.env.DIES;
        }
    },
    onError: (error) => console.error(error.message),
});
process.on('SIGTERM', () => outbox.stop());
await outbox.run();
