// What the engine of Prisma 6.19 that its npm packages hold needs; the one that Prisma downloads does without.
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';

const { query } = pg.Pool.prototype;
pg.Pool.prototype.query = async function (asked, ...rest) {
    // It drops the shadow database while it is connected to it.
    if (/^DROP DATABASE/.test(asked.text ?? asked)) {
        asked = { ...asked, text: `${asked.text ?? asked} WITH (FORCE)` };
    }
    if (this.listenerCount('error') === 0) {
        this.on('error', () => {});
    }
    const result = await query.call(this, asked, ...rest);
    // It knows neither name nor "char", which the catalogs are full of.
    result.fields?.forEach((field) => { if ([18, 19].includes(field.dataTypeID)) field.dataTypeID = 25; });
    return result;
};

// A connectionString would lead to the same database in place of the shadow database.
const { hostname: host, port, username: user, password, pathname } = new URL(process.env.DATABASE_URL);

export const wasmEngine = {
    engine: 'js',
    experimental: { adapter: true },
    adapter: async () => new PrismaPg({ host, port, user, password, database: pathname.slice(1), allowExitOnIdle: true }),
};
