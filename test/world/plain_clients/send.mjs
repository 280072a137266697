// Sends each file statement by statement. Statements end at semicolons outside of quotes and comments: that is all that this knows of SQL.
import { readFileSync } from 'node:fs';
import pg from 'pg';

function* statements(sql) {
    const token = /--[^\n]*|\/\*.*?\*\/|'[^']*'|"[^"]*"|(\$\w*\$).*?\1|;/gs;
    let start = 0;
    for (const found of sql.matchAll(token)) if (found[0] === ';') { yield sql.slice(start, found.index); start = found.index + 1; }
}

const client = new pg.Client();
await client.connect();
for (const file of process.argv.slice(2)) for (const statement of statements(readFileSync(file, 'utf8'))) await client.query({ text: statement, queryMode: 'extended' });
await client.end();
