// The page in Chromium: types an id, moves a slider, and, where the site has the prompt, runs the examples, and reads what stands there.
//   node --test test/try/page.mjs, with SITE of packaging/try; PICTURES: a directory for pictures of all widths and colours
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import test, { after, before } from 'node:test';
import { browse, serve } from './browser.mjs';

const { SITE, PICTURES } = process.env;
const prompt = existsSync(`${SITE}/try.js`);
// With the prompt .gz are sent as some servers do, which unpack them on the way.
const server = await serve(SITE, prompt);
let page;
before(async () => { page = await browse(); });
after(async () => { await page?.close(); server.close(); });

const readings = () => page.evaluate(`() => [...document.querySelectorAll('#readings tbody tr')].map(row => [row.dataset.preset, ...[...row.cells].slice(1).map(cell => cell.textContent)])`);
const value = selector => page.evaluate(`selector => document.querySelector(selector).value`, selector);
const attribute = (selector, name) => page.evaluate(`(selector, name) => document.querySelector(selector).getAttribute(name)`, selector, name);
const wider = () => page.evaluate(`() => document.documentElement.scrollWidth - document.documentElement.clientWidth`);

test('an id is read while it is typed', async () => {
    await page.open(server.url);
    // From the documentation of Discord, and of Twitter.
    await page.type('#id', '175928847299117063');
    const discord = (await readings()).find(([preset]) => preset === 'discord');
    assert.match(discord[1], /^2016-04-30 11:18:25\.796/);
    assert.deepEqual(discord.slice(2), ['32', '7']);
    assert.equal(await page.evaluate(`() => location.hash`), '#id=175928847299117063');
    await page.click('#readings tr[data-preset=discord] button');
    assert.equal(await page.evaluate(`() => [...document.querySelectorAll('#bits i')].map(bit => bit.textContent).join('')`), (175928847299117063n).toString(2).padStart(64, '0'));
    assert.match(await attribute('#bits', 'aria-label'), /^time: [01]{42}; worker: 00001; process: 00000; sequence: 000000000111$/);
    await page.type('#id', '1050118621198921728');
    const twitter = (await readings()).find(([preset]) => preset === 'twitter');
    assert.match(twitter[1], /^2018-10-10 20:19:24\.211/);
    await page.type('#id', '"1050118621198921728"');
    assert.deepEqual((await readings()).find(([preset]) => preset === 'twitter'), twitter);
});
test('text forms, and what is no id', async () => {
    for (const [text, says] of [['0RMC015Z6MPVK', /^The number 887631379832658803\. .* most plausibly tsid/], ['hello world', /no number/], ['018f4e0c-7b7a-7cc3-98c4-dc0c0c07398f', /UUID/], ['18446744073709551616', /more than 64 bits/],
        ['4711', /a counter/], ['-5', /give its secret/], ['', /^$/]]) {
        await page.type('#id', text);
        assert.match(await page.text('#id-says'), says, text);
    }
});
test('an enciphered id is read by its secret, which is not in the address', async () => {
    await page.click('#samples button:last-child');
    assert.equal((await readings())[0][0], 'randflake');
    assert.match((await readings())[0][1], /^2024-10-27 03:33:20/);
    assert.doesNotMatch(await page.evaluate(`() => location.href`), /fd750eb6/);
    await page.type('#secret', 'too short');
    assert.match(await page.text('#secret-says'), /32 hexadecimal digits/);
});
test('each id to look at is read as what it is', async () => {
    for (const [i, preset] of ['twitter', 'discord', 'instagram', 'mastodon', 'sonyflake', 'tsid', 'randflake'].entries()) {
        await page.click(`#samples button:nth-child(${i + 1})`);
        assert.ok((await readings()).slice(0, 3).some(([name]) => name === preset), `${preset}: ${JSON.stringify(await readings())}`);
    }
});
test('a link carries an id', async () => {
    await page.open(`${server.url}#id=7jnP3`);
    assert.equal(await value('#id'), '7jnP3');
    await page.evaluate(`() => { location.hash = '#id=175928847299117063'; }`);
    await page.until(`() => document.getElementById('id').value === '175928847299117063'`);
});
test('a slider moves the layout, by keyboard too', async () => {
    await page.evaluate(`() => { const start = document.getElementById('start'); start.value = 'pgedge'; start.dispatchEvent(new Event('change')); }`);
    assert.equal(await value('#layout-text'), 'time:41:1ms node:10 sequence:12 epoch=2023-01-01T00:00:00Z');
    assert.match(await page.text('#layout-says'), /preset pgedge/);
    assert.match(await page.text('#gives'), /4\.1 million.*1\u202f024.*2092-09-06/s);
    await page.evaluate(`() => document.getElementById('time-bits').focus()`);
    await page.key('ArrowLeft');
    assert.equal(await value('#layout-text'), 'time:40:1ms node:10 sequence:12 epoch=2023-01-01T00:00:00Z');
    assert.equal(await attribute('#time-bits', 'aria-valuetext'), '40 bits');
    for (let i = 0; i < 4; i++) { await page.evaluate(`() => document.getElementById('node-bits').focus()`); await page.key('ArrowRight'); }
    assert.match(await page.text('#layout-says'), /These are 66 bits/);
    assert.equal(await value('#layout-text'), '');
    await page.evaluate(`() => { const start = document.getElementById('start'); start.value = 'js53'; start.dispatchEvent(new Event('change')); }`);
    assert.match(await page.text('#gives'), /always/);
    assert.match(await page.text('#compare tbody tr:last-child'), /^rollback3/);
});

const idle = () => page.until(`() => !document.getElementById('run').disabled && /^(Done|Stopped|That failed|PostgreSQL did not)/.test(document.getElementById('try-says').textContent)`);
const errors = () => page.evaluate(`() => [...document.querySelectorAll('#results [role=alert]')].map(each => each.textContent)`);
test('SQL runs in the page', { skip: !prompt && 'there is no prompt' }, async t => {
    assert.deepEqual(page.asked.filter(url => /pglite/.test(url)), [], 'nothing of it is loaded before it is asked for');
    assert.match(await page.text('#run'), /loads \d\.\d MB/);
    await page.evaluate(`() => document.getElementById('run').focus()`);
    await page.key('Enter');
    await idle();
    assert.deepEqual(await errors(), []);
    assert.equal(await page.evaluate(`() => document.querySelectorAll('#results tbody tr').length`), 3, await page.text('#try-says'));
    const examples = await page.evaluate(`() => [...document.querySelectorAll('#examples button')].map(button => button.textContent)`);
    assert.equal(examples.length, 6);
    // Twice, as people do.
    for (const i of [...examples.keys(), ...examples.keys()]) {
        await page.click(`#examples button:nth-child(${i + 1})`);
        await idle();
        assert.deepEqual([await errors(), await page.text('#try-says')], [[], 'Done.'], examples[i]);
        assert.ok(await page.evaluate(`() => document.querySelectorAll('#results tbody tr').length`) > 0, examples[i]);
    }
    await page.type('#sql', 'SELECT 1/0;');
    await page.key('Enter', 2); // Ctrl
    await page.until(`() => document.querySelector('#results [role=alert]')`);
    assert.match((await errors())[0], /division by zero/);
    await page.type('#sql', 'SELECT max(id) FROM orders');
    await page.click('#run');
    await page.until(`() => document.querySelector('#results td button')`);
    const id = await page.text('#results td button');
    await page.click('#results td button');
    assert.equal(await value('#id'), id, 'an id of the results is read above');
    assert.ok((await readings()).some(([preset]) => preset === 'snowflake'));
    await page.type('#sql', 'SELECT pg_sleep(3600)');
    await page.click('#run');
    await page.until(`() => !document.getElementById('stop').hidden`);
    await page.click('#stop');
    assert.match(await page.text('#try-says'), /Stopped/);
});

test('it fits a phone and a desk, and its text can be read, in light and dark', async () => {
    for (const width of [390, 1280]) for (const scheme of ['light', 'dark']) {
        await page.open(`${server.url}#id=175928847299117063`, width, scheme);
        assert.equal(await wider(), 0, `nothing is wider than ${width} pixels`);
        if (prompt && PICTURES) { await page.click('#run'); await idle(); await page.click('#examples button:nth-child(2)'); await idle(); }
        assert.deepEqual(await page.evaluate(faint), [], `contrast at ${width} pixels, ${scheme}`);
        if (!PICTURES) continue;
        mkdirSync(PICTURES, { recursive: true });
        writeFileSync(`${PICTURES}/${width}-${scheme}.png`, await page.picture());
    }
    if (!PICTURES) return;
    // The one of README.
    await page.open(`${server.url}#id=2124411173091672064`, 1000);
    writeFileSync(`${PICTURES}/try.png`, await page.picture('#read'));
});
test('everything has a name for who does not see it', async () => {
    assert.deepEqual(await page.evaluate(`() => [...document.querySelectorAll('input, select, textarea')].filter(each => !each.labels.length && !each.getAttribute('aria-label')).map(each => each.id)`), []);
    assert.deepEqual(await page.evaluate(`() => [...document.querySelectorAll('button, a, summary')].filter(each => !each.textContent.trim()).map(each => each.outerHTML)`), []);
    assert.deepEqual(await page.evaluate(`() => [...document.querySelectorAll('[role=img], [role=region]')].filter(each => !each.getAttribute('aria-label') && !each.getAttribute('aria-labelledby')).map(each => each.id)`), []);
});
test('no other host is asked, and the browser has nothing to complain of', () => {
    assert.deepEqual(page.asked.filter(url => !url.startsWith(server.url) && !/^(?:data|blob|about):/.test(url)), []);
    assert.deepEqual(page.faults, []);
});

// Texts whose contrast with their ground is below 4.5, as WCAG reckons it.
const faint = `() => {
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const rgba = color => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
    const light = color => color.slice(0, 3).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const ground = each => {
        const layers = [];
        for (let at = each; at; at = at.parentElement) { layers.unshift(rgba(getComputedStyle(at).backgroundColor)); if (layers[0][3] === 255) break; }
        return layers.reduce((under, over) => under.map((v, i) => v + (over[i] - v) * over[3] / 255), [255, 255, 255, 255]);
    };
    const ratio = (one, other) => (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    return [...document.querySelectorAll('body *')].filter(each => [...each.childNodes].some(node => node.nodeType === 3 && node.data.trim()) && each.getClientRects().length && !each.disabled
            && !each.closest('noscript, .hidden'))
        .filter(each => ratio(light(rgba(getComputedStyle(each).color)), light(ground(each))) < 4.5).map(each => each.tagName + ' ' + each.className + ' ' + each.textContent.slice(0, 30));
}`;
