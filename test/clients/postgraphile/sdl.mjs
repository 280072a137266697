// Prints what is offered.
import { printSchema } from 'graphql';
import pg from 'pg';
import { createPostGraphileSchema } from 'postgraphile';

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
console.log(printSchema(await createPostGraphileSchema(pool, ['shop', 'public'])));
await pool.end();
