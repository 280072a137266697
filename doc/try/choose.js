// Choosing a layout: what bits, unit and epoch give, beside the presets.
import * as core from './core.js';
import { $, element, grouped, nowUs, plural, presets, say, styleOf } from './dom.js';

const SLIDERS = ['time', 'node', 'sequence'];
// Of a preset's epoch the field for dates shows the day alone, so the moment stands here until another day is chosen.
let epoch = '';

function rate(perSecond) {
    for (const [least, size, word] of [[1e12, 1e12, 'trillion'], [1e9, 1e9, 'billion'], [1e6, 1e6, 'million'], [1e4, 1e3, 'thousand']])
        if (perSecond >= least) return `${Number((perSecond / size).toPrecision(3))} ${word}`;
    return String(Number(perSecond.toPrecision(perSecond >= 1000 ? 4 : 3)));
}
const date = us => core.momentText(us)?.slice(0, 10) ?? 'after the year 9999';
const exact = ({ exact }) => exact === 'always' ? 'always' : exact === null ? 'no' : exact > nowUs() ? `until ${date(exact)}` : `not since ${date(exact)}`;

function barOf(layout, words) {
    const unused = layout.bits < 64 ? [{ name: '', kind: 'unused', bits: 64 - layout.bits }] : [];
    return [...unused, ...layout.fields].map(field => {
        const name = words && field.name && field.bits > 7 ? element('span', { class: 'name' }, `${field.name} `) : null;
        const part = element('span', { class: field.kind === 'unused' ? 'unused' : styleOf(field, layout.fields), 'aria-hidden': 'true' }, name, field.bits > 3 ? String(field.bits) : '');
        part.style.setProperty('--bits', field.bits);
        return part;
    });
}
const barText = layout => layout.fields.map(field => `${field.name} ${field.bits}`).join(', ');

function remark(layout, gives) {
    const years = Number(gives.end - nowUs()) / 31556952e6;
    if (years <= 0) return [`It ended on ${date(gives.end)}: choose a later epoch or more bits of time.`, true];
    if (layout.epoch > nowUs()) return ['Its epoch lies ahead, so it makes no ids yet.', true];
    if (years < 10) return [`It lasts ${years < 1 ? 'less than a year' : plural(Math.floor(years), 'year')} more.`];
    if (layout.bits === 64) return ['All 64 bits are used. The highest, the sign, stays zero, so time has one bit less.'];
    return [layout.bits < 63 ? `${plural(63 - layout.bits, 'bit')} to spare, which keeps numbers smaller.` : ''];
}

function showLayout() {
    const bits = {};
    for (const name of SLIDERS) {
        bits[name] = +$(`${name}-bits`).value;
        $(`${name}-says`).textContent = plural(bits[name], 'bit');
        $(`${name}-bits`).setAttribute('aria-valuetext', plural(bits[name], 'bit'));
    }
    const total = bits.time + bits.node + bits.sequence;
    let layout = null, problem = null;
    if (total > 64) problem = `These are ${total} bits, and an id has 64. Take ${total - 63} away.`;
    else if (epoch === '') problem = 'An epoch is needed.';
    else layout = core.layout(`time:${bits.time}:${$('tick').value}${bits.node ? ` node:${bits.node}` : ''} sequence:${bits.sequence} epoch=${epoch}`);
    $('layout-text').value = layout?.text ?? '';
    $('copy').disabled = !layout;
    $('layout-bar').replaceChildren(...(layout ? barOf(layout, true) : []));
    $('layout-bar').setAttribute('aria-label', layout ? barText(layout) : 'no layout');
    $('gives').replaceChildren(...(layout ? cards(layout) : []));
    if (layout) {
        const same = presets.filter(preset => preset.layout.text === layout.text).map(({ name }) => name);
        const [words, bad] = remark(layout, core.measures(layout));
        say($('layout-says'), (same.length ? `This is the preset ${same.join(', ')}. ` : '') + words, bad);
    } else say($('layout-says'), problem, true);
    showPresets(layout);
}

function cards(layout) {
    const gives = core.measures(layout), years = Math.floor(Number(gives.end - nowUs()) / 31556952e6);
    const whole = words => words.split(/ (?=\d{4}-)/).flatMap((part, i) => i ? [' ', element('span', { class: 'whole' }, part)] : [part]);
    return [['Ids a second a node', rate(gives.perSecond), `${grouped(gives.perTick)} each ${core.tickText(layout.tick)}`],
        ['Nodes', grouped(gives.nodes), gives.nodes === 1n ? 'one server' : 'servers that make ids apart'],
        ['Last date', date(gives.end - 1n), years > 0 ? `${plural(years, 'year')} from now` : years < 0 ? 'over' : 'in less than a year'],
        ['Exact in a JavaScript number', exact(gives), gives.exact === 'always' ? 'at most 53 bits' : 'beyond 2\u2075\u00b3, pass ids as text']]
        .map(([name, value, more]) => element('div', {}, element('dt', {}, name), element('dd', {}, ...whole(value), element('small', {}, more))));
}

function showPresets(yours) {
    const own = yours && core.measures(yours);
    const beside = (theirs, mine) => element('small', {}, theirs === mine ? 'as yours' : theirs > mine ? `${rate(theirs / mine)} × yours` : `1/${rate(mine / theirs)} of yours`);
    const line = (name, layout, isYours) => {
        const gives = core.measures(layout), bar = element('div', { class: 'bar', role: 'img', 'aria-label': barText(layout) }, ...barOf(layout));
        return element('tr', { class: isYours ? 'yours' : null }, element('th', { scope: 'row' }, name), element('td', {}, bar),
            element('td', { class: 'number' }, rate(gives.perSecond), own && !isYours ? beside(gives.perSecond, own.perSecond) : null),
            element('td', { class: 'number' }, grouped(gives.nodes), own && !isYours ? beside(Number(gives.nodes), Number(own.nodes)) : null),
            element('td', {}, date(gives.end - 1n), gives.end <= nowUs() ? element('small', { class: 'bad' }, 'is over') : null),
            element('td', {}, layout.enciphered ? 'no, enciphered' : exact(gives)));
    };
    $('compare').tBodies[0].replaceChildren(...(yours ? [line('Yours', yours, true)] : []), ...presets.filter(({ layout }) => core.measures(layout).perSecond).map(({ name, layout }) => line(name, layout)));
}

function startFrom(name) {
    const { layout } = presets.find(preset => preset.name === name);
    for (const kind of SLIDERS) $(`${kind}-bits`).value = layout.fields.filter(field => field.kind === kind).reduce((sum, field) => sum + field.bits, 0);
    $('tick').value = core.tickText(layout.tick);
    epoch = core.momentText(layout.epoch);
    $('epoch').value = epoch.slice(0, 10);
    showLayout();
}

// The sliders stand for fields in the order time, node, sequence.
const alike = presets.filter(({ layout }) => !layout.enciphered && /^time(,node)*,sequence$/.test(layout.fields.map(({ kind }) => kind).join()));
$('start').append(...alike.map(({ name }) => element('option', { value: name }, name)));
$('start').addEventListener('change', () => startFrom($('start').value));
for (const id of [...SLIDERS.map(name => `${name}-bits`), 'tick']) $(id).addEventListener('input', showLayout);
$('epoch').addEventListener('input', () => { epoch = $('epoch').value && `${$('epoch').value}T00:00:00Z`; showLayout(); });
$('copy').addEventListener('click', async () => {
    $('layout-text').select();
    try { await navigator.clipboard.writeText($('layout-text').value); } catch { document.execCommand('copy'); }
    $('copy').textContent = 'Copied';
    setTimeout(() => { $('copy').textContent = 'Copy'; }, 1500);
});
startFrom($('start').value);
