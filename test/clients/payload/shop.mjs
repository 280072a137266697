// Payload
import { postgresAdapter } from '@payloadcms/db-postgres';
import { buildConfig } from 'payload';
import { flakeKeys, id, sealedOr404 } from './flake.mjs';

const item = { name: 'item', type: 'text' };
const to = (name, relationTo) => ({ name, type: 'relationship', relationTo });

export const config = buildConfig({
    secret: 'of no use here',
    db: postgresAdapter({
        pool: { connectionString: process.env.DATABASE_URL },
        afterSchemaInit: [flakeKeys({
            orders: 'flake', lines: 'flake', tickets: 'flake_sealed', replies: 'flake_sealed', invoices: 'bigint', payments: 'bigint',
        })],
    }),
    // Locks compare an id with the keys of every collection, whatever their types are.
    collections: [
        { slug: 'orders', lockDocuments: false, fields: [id, item] },
        { slug: 'lines', lockDocuments: false, fields: [id, to('order', 'orders')] },
        { slug: 'tickets', lockDocuments: false, fields: [id, item], hooks: { beforeOperation: [sealedOr404] } },
        { slug: 'replies', lockDocuments: false, fields: [id, to('ticket', 'tickets'), { ...to('about', ['tickets', 'orders']), hasMany: true }] },
        { slug: 'invoices', lockDocuments: false, fields: [id, item] },
        { slug: 'payments', lockDocuments: false, fields: [id, to('invoice', 'invoices')] },
    ],
    typescript: { autoGenerate: false },
});
