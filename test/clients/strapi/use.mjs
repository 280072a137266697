// One run of the program: it brings the tables into shape, and makes and finds documents.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { made, strangers, version } from '../check.mjs';

const { createStrapi } = createRequire(import.meta.url)('@strapi/strapi');
version('@strapi/strapi', 'pg');
const strapi = await createStrapi({ appDir: process.cwd(), distDir: process.cwd() }).load();
const of = (name) => strapi.documents(`api::${name}.${name}`);

for (const [one, many, lines, shape] of [
    ['order', 'line', 'lines', /^\d{18,19}$/], ['ticket', 'reply', 'replies', /^[0-9a-v]{13}$/], ['invoice', 'payment', 'payments', /^\d{18,19}$/],
]) {
    const documents = [];
    for (let n = 0; n < 10; n++) {
        documents.push(await of(one).create({ data: { item: `item ${n}` } }));
    }
    const ids = documents.map(({ id }) => id);
    ids.forEach((id) => assert.match(id, shape));
    const row = await of(many).create({ data: { [one]: documents[6].documentId } });
    assert.match(row.id, shape);
    assert.equal((await of(many).findOne({ documentId: row.documentId, populate: [one] }))[one].id, ids[6]);
    assert.deepEqual((await of(one).findOne({ documentId: documents[6].documentId, populate: [lines] }))[lines].map(({ id }) => id), [row.id]);
    const page = await of(one).findMany({ filters: { id: { $gt: ids[6] } }, sort: 'id', limit: 2 });
    assert.deepEqual(page.map(({ id }) => id), ids.slice(7, 9), 'a page by the last id seen');
    await of(one).update({ documentId: documents[0].documentId, data: { item: 'pen' } });
    assert.equal((await of(one).findFirst({ filters: { id: { $in: [ids[0]] } } })).item, 'pen');
    assert.equal(JSON.parse(JSON.stringify(page[0])).id, ids[7]);
    await of(one).delete({ documentId: documents[1].documentId });
    assert.equal(await of(one).count({ filters: { id: { $in: ids } } }), 9);
}

// A ticket has a draft and, once it is published, a row of its own for that.
const ticket = await of('ticket').create({ data: { item: 'tea' }, status: 'published' });
const draft = await of('ticket').findOne({ documentId: ticket.documentId, status: 'draft' });
assert.notEqual(draft.id, ticket.id);
const find = (text) => strapi.db.connection('tickets').whereRaw('id = flake_sealed_or_null(?)', [text]).first();
assert.equal((await find(draft.id)).item, 'tea');
for (const text of strangers) {
    assert.equal(await find(text), undefined, text);
}

// Media
const picture = await strapi.db.query('plugin::upload.file').create({ data: { name: 'tea', hash: 'tea', mime: 'image/png', size: 1, url: '/tea.png', provider: 'local' } });
const order = await of('order').create({ data: { item: 'tea', picture: picture.id }, populate: ['picture'] });
made(order.id);
assert.equal(order.picture.id, picture.id);
process.exit(0);
