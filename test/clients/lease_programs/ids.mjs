// Appends ids to a file, as many as each line of the input says; "ok NODE" or the error follows.
// At an empty line or the end the node is given back.
//   node ids.mjs FILE ['{"holder": "shop"}']
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { FlakeIds } from './flake_lease.mjs';

const [file, options = '{}'] = process.argv.slice(2);
const ids = new FlakeIds(JSON.parse(options));
for await (const count of createInterface({ input: process.stdin })) {
    if (count === '') {
        break;
    }
    let lines = [];
    let said;
    try {
        for (let made = 0; made < Number(count); made++) {
            lines.push(`${await ids.next()}\n`);
            if (lines.length === 10000) {
                appendFileSync(file, lines.join(''));
                lines = [];
            }
        }
        said = `ok ${ids.node}`;
    } catch (error) {
        said = error.message;
    }
    appendFileSync(file, lines.join(''));
    console.log(said);
}
await ids.close();
process.stdin.destroy();
