export default {
    dialect: 'postgresql',
    schema: './schema.mjs',
    out: './migrations',
    dbCredentials: { url: process.env.DATABASE_URL },
    schemaFilter: ['public'],
};
