// The prompt. Nothing of PostgreSQL is loaded before its button is pressed.
import sizes from './sizes.js';
import { $, element, plural, say } from './dom.js';
import { readThis } from './read.js';

const EXAMPLES = [
    ['Make ids', `INSERT INTO orders (item) VALUES ('pen'), ('ink'), ('paper')
RETURNING id, item;`],
    ['Read one', `SELECT flake_explain(max(id)) FROM orders;
SELECT id, flake_timestamp(id) AS made_at, flake_node(id) AS node, flake_sequence(id) AS sequence
FROM orders ORDER BY id DESC LIMIT 3;`],
    ['Find by time', `SELECT id, item, flake_timestamp(id) AS made_at FROM orders
WHERE flake_in_range(id, tstzrange(now() - interval '1 minute', NULL)) LIMIT 5;
EXPLAIN (COSTS OFF) SELECT * FROM orders      -- the key's own index finds them
WHERE flake_in_range(id, tstzrange(now() - interval '1 minute', now()));`],
    ['Many at once', `INSERT INTO orders (item) SELECT 'item ' || n FROM generate_series(1, 10000) AS n;
SELECT count(*), count(DISTINCT id) AS distinct_ids, min(flake_timestamp(id)) AS first, max(flake_timestamp(id)) AS last FROM orders;
SELECT min(i), max(i), count(*) FROM flake_next_many(20000) AS i;`],
    ['Two nodes', `-- Two databases whose rows will meet have different nodes. Here one plays both.
INSERT INTO flakeid_plain.settings VALUES ('node', '1') ON CONFLICT (name) DO UPDATE SET value = excluded.value;
INSERT INTO orders (item) VALUES ('made by node 1') RETURNING id, flake_node(id);
UPDATE flakeid_plain.settings SET value = '2' WHERE name = 'node';
INSERT INTO orders (item) VALUES ('made by node 2') RETURNING id, flake_node(id);
SELECT flake_node(id) AS node, count(*) FROM orders GROUP BY 1 ORDER BY 1;`],
    ['Partition', `DROP TABLE IF EXISTS events;
CREATE TABLE events (id bigint PRIMARY KEY DEFAULT flake_next(), what text);
INSERT INTO events (what) SELECT 'event ' || n FROM generate_series(1, 1000) AS n;
CALL flakeid_plain.partition('events', every => '1 month');
SELECT partition, to_time, rows FROM flakeid_plain.partitions;`],
];
const size = `${(sizes.bytes / 1e6).toFixed(1)} MB`;
let worker = null, ready = false, busy = false, queued = null;

function buttons() {
    $('run').textContent = ready ? 'Run' : busy ? 'Starting…' : `Start PostgreSQL and run (loads ${size})`;
    $('run').disabled = busy;
    $('stop').hidden = !busy;
}
const says = (words, bad) => say($('try-says'), words, bad);
const took = ms => `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;

// A number that may be an id can be read above.
function cell(value, number) {
    if (value === null) return element('td', { class: 'null' }, 'null');
    if (/^-?\d{14,19}$/.test(value)) return element('td', { class: 'number' }, element('button', { type: 'button', title: 'Read this id above', onclick: () => readThis(value) }, value));
    return element('td', { class: number ? 'number' : null }, value);
}

function table({ fields, rows, count, ms }) {
    const head = element('thead', {}, element('tr', {}, ...fields.map(({ name, number }) => element('th', { scope: 'col', class: number ? 'number' : null }, name))));
    const body = element('tbody', {}, ...rows.map(row => element('tr', {}, ...row.map((value, i) => cell(value, fields[i].number)))));
    const box = element('div', { class: 'scroll', role: 'region', tabindex: '0', 'aria-label': plural(count, 'row') }, element('table', {}, head, body));
    return [box, element('p', { class: 'hint' }, `${plural(count, 'row')}${count > rows.length ? `, the first ${rows.length} shown` : ''}, ${took(ms)}`)];
}

function show(result) {
    const { statement, notices, fields, affected, error, ms } = result;
    const hint = words => element('p', { class: 'hint' }, words);
    const lines = error && [error.detail, error.hint && `Hint: ${error.hint}`].filter(Boolean).flatMap(text => [element('br'), text]);
    $('results').append(element('div', {}, element('pre', {}, statement.replace(/^\s*--.*\n/gm, '')), ...notices.map(hint),
        ...(error ? [element('p', { class: 'bad', role: 'alert' }, `Error: ${error.message}`, ...lines)]
            : fields.length ? table(result) : [hint(`${affected ? plural(affected, 'row') : 'Done'}, ${took(ms)}`)])));
}

function quit(words, bad) {
    worker?.terminate();
    [worker, ready, busy, queued] = [null, false, false, null];
    $('progress').hidden = true;
    says(words, bad);
    buttons();
}

function start() {
    worker = new Worker('worker.js', { type: 'module' });
    worker.onerror = event => quit(`PostgreSQL did not start: ${event.message || 'this browser does not run it'}`, true);
    worker.onmessage = ({ data }) => {
        if (data.progress !== undefined) $('progress').value = data.progress;
        if (data.stage) says(data.stage);
        if (data.started) {
            $('progress').hidden = true;
            [ready, busy] = [true, false];
            says(`PostgreSQL ${data.started} runs in this page.`);
            const next = queued;
            queued = null;
            run(next);
        }
        if (data.result) show(data.result);
        if (data.done) { busy = false; says($('results').querySelector('[role=alert]') ? 'Stopped at an error.' : 'Done.'); buttons(); }
        if (data.failed) quit(`That failed: ${data.failed}`, true);
    };
    busy = true;
    $('progress').hidden = false;
    says(`Loading ${size}…`);
    buttons();
    worker.postMessage({ start: true });
}

function run(sql) {
    if (busy) return;
    if (!worker) { queued = sql; return start(); }
    busy = true;
    buttons();
    $('results').replaceChildren();
    worker.postMessage({ run: sql });
}

$('examples').append(...EXAMPLES.map(([name, sql]) => element('button', { type: 'button', onclick: () => {
    $('sql').value = sql;
    if (ready) run(sql);
} }, name)));
$('sql').value = EXAMPLES[0][1];
$('run').addEventListener('click', () => run($('sql').value));
$('stop').addEventListener('click', () => quit('Stopped. The next run starts a new PostgreSQL.'));
$('sql').addEventListener('keydown', event => { if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) { event.preventDefault(); run($('sql').value); } });
buttons();
