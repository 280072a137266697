import { readFileSync } from 'node:fs';
import { PGlite } from '@electric-sql/pglite';

// A database in a directory, or in memory; a new one gets the edition.
export async function open(directory) {
    const db = await PGlite.create(directory);
    const { rows } = await db.query("SELECT to_regnamespace('flakeid_plain') AS there");
    if (!rows[0].there) {
        await db.exec(readFileSync('plain/flakeid_plain.sql', 'utf8'));
        await db.exec(readFileSync('plain/flakeid_plain_tables.sql', 'utf8'));
    }
    await db.exec('SET search_path = public, flakeid_plain');
    return db;
}
