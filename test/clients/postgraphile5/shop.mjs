// PostGraphile 5
import postgraphile from 'postgraphile';
import { TYPES } from 'postgraphile/@dataplan/pg';
import { makePgService } from 'postgraphile/adaptors/pg';
import amber from 'postgraphile/presets/amber';

// To PostGraphile a flake is a bigint: BigInt in GraphQL, which is a string. A sealed id is a text.
const codecs = { flake: TYPES.bigint, flake_sealed: TYPES.text };

export const FlakePlugin = {
    name: 'FlakePlugin',
    gather: {
        hooks: {
            pgCodecs_findPgCodec(info, event) {
                event.pgCodec ??= codecs[event.pgType.typname];
            },
        },
    },
};

export const server = postgraphile.default({
    extends: [amber.PostGraphileAmberPreset],
    plugins: [FlakePlugin],
    pgServices: [makePgService({ connectionString: process.env.DATABASE_URL, schemas: ['shop', 'public'] })],
});
