// Reading an id: under which presets it makes sense, and its bits.
import * as core from './core.js';
import { $, element, grouped, nowUs, plural, presets, say, styleOf } from './dom.js';

const SAMPLES = [['Twitter', '1050118621198921728'], ['Discord', '175928847299117063'], ['Instagram', '3382172478323619721'],
    ['Mastodon', '115614238217446353'], ['Sonyflake', '612184238954948625'], ['TSID', '0RMC015Z6MPVK'],
    ['Randflake', 'bivkd290pu236', 'fd750eb6e0464546d6bb760bb94f4862']];
const FORMS = ['decimal', ...Object.keys(core.FORMS)];
let chosen = null;      // the preset whose fields are shown; null: the most plausible one

function ago(us) {
    const seconds = Number(nowUs() - us) / 1e6, size = Math.abs(seconds);
    const units = [[31556952, 'year'], [2629746, 'month'], [86400, 'day'], [3600, 'hour'], [60, 'minute'], [1, 'second']];
    const [length, unit] = units.find(([length]) => size >= length) ?? [];
    return unit ? `${plural(Math.floor(size / length), unit)} ${seconds < 0 ? 'ahead' : 'ago'}` : 'now';
}

// The round keys of what stands in the field of the secret: 32 hexadecimal digits or 16 characters; null for anything else.
function secretKeys(secret) {
    const bytes = /^[0-9a-fA-F]{32}$/.test(secret) ? secret
        : [...new TextEncoder().encode(secret)].map(byte => byte.toString(16).padStart(2, '0')).join('');
    return bytes.length === 32 ? core.roundKeys(bytes) : null;
}

// The forms in which the text can be an id, each with its readings. A number is one; of the others the first is that of which the most
// plausible reading is more plausible.
function formsOf(text, keys) {
    const forms = FORMS.map(form => ({ form, id: core.fromText(text, form) })).filter(({ id }) => id !== null);
    for (const each of forms) each.rows = core.guess(presets, each.id, nowUs(), keys);
    const rank = ({ form, rows }) => form === 'decimal' ? -1 : rows[0]?.weight ?? 1000;
    return forms.sort((one, other) => rank(one) - rank(other));
}

// What is said of a text that is no id in this form.
function whyNot(text, form) {
    if (/^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$/i.test(text)) return 'This is a UUID, which has 128 bits. An id here has 64.';
    if (/^-?\d+$/.test(text)) return 'This number has more than 64 bits.';
    return form ? `This is no ${form} text of a 64-bit id.` : 'This is no number, and none of the text forms of a 64-bit id.';
}

function summary({ form, id, rows }, forms, keys) {
    const number = form === 'decimal' ? '' : `The number ${id}. `;
    if (rows.length === 0) return `${form === 'decimal' ? id : `The number ${id}`} makes sense under none of the presets${id < 0n && !keys ? '. A negative id is an enciphered one: give its secret' : ''}.`;
    const also = forms.filter(other => other.form !== form && other.form !== 'base2' && other.rows.length).map(other => other.form);
    return `${number}${rows.length} of ${presets.length} presets can have made it${rows.length > 1 ? `, most plausibly ${rows[0].name}` : ''}.`
        + (id >= 0n && id < 1n << 40n ? ' Numbers as small as this one are more often those of a counter.' : '')
        + ($('form').value === '' && form !== 'decimal' && also.length ? ` As a text it could also be ${also.join(', ')}.` : '');
}

function showReading() {
    // As JSON or a program writes it: in quotes, or with the n of a BigInt.
    const text = $('id').value.trim().replace(/^(["'])(.*)\1$/, '$2').replace(/^(-?\d+)n$/, '$1');
    const secret = $('secret').value.trim(), keys = secretKeys(secret);
    say($('secret-says'), secret && !keys ? 'A secret is 32 hexadecimal digits, or exactly 16 characters.'
        : 'It stays in this page, and is not put into its address.', secret !== '' && !keys);
    const forms = formsOf(text, keys);
    $('form').options[0].textContent = forms.length ? `automatic: ${forms[0].form}` : 'automatic';
    const reading = $('form').value === '' ? forms[0] : forms.find(({ form }) => form === $('form').value);
    $('read-result').hidden = !reading;
    if (!reading) return say($('id-says'), text === '' ? '' : whyNot(text, $('form').value), text !== '');
    const { id, rows } = reading;
    if (!rows.some(({ name }) => name === chosen)) chosen = rows[0]?.name ?? null;
    say($('id-says'), summary(reading, forms, keys), rows.length === 0);
    $('readings').hidden = rows.length === 0;
    $('readings').tBodies[0].replaceChildren(...rows.map(row => {
        const [day, clock] = moment(row.parts.us).split(' ');
        const button = element('button', { type: 'button', 'aria-pressed': String(row.name === chosen), onclick: () => choose(row.name) }, row.name);
        const made = element('td', {}, element('span', { class: 'whole' }, day), ' ', element('span', { class: 'whole' }, clock), element('small', {}, ago(row.parts.us)));
        return element('tr', { class: row.name === chosen ? 'chosen' : null, 'data-preset': row.name }, element('th', { scope: 'row' }, button), made,
            element('td', { class: 'number' }, String(row.parts.node)), element('td', { class: 'number' }, String(row.parts.sequence)));
    }));
    showBits(id, rows.find(({ name }) => name === chosen));
    $('forms').replaceChildren(...FORMS.flatMap(form => [element('dt', {}, form), element('dd', {}, core.toText(id, form))]));
    history.replaceState(null, '', `#id=${encodeURIComponent(text)}`);
}

function choose(name) {
    chosen = name;
    showReading();
    document.querySelector(`#readings tr[data-preset=${name}] button`).focus();
}

const moment = us => core.momentText(us).replace('Z', '').replace('T', ' ');

function meaning(field, layout, parts) {
    const tick = core.tickText(layout.tick);
    switch (field.kind) {
    case 'time': return `${tick} each since ${moment(layout.epoch)}: ${moment(parts.us)}`;
    case 'sequence': return `number ${grouped(field.value + 1n)} of its ${tick}, on its node`;
    case 'back': return 'how often the clock was set back';
    default: return `who made it, of ${grouped(1n << BigInt(field.bits))}`;
    }
}

// The 64 bits, each in the colour of its field, and a line for each field; of an id that no preset reads the bits alone.
function showBits(id, row) {
    const fields = row ? row.parts.fields : [], unused = row ? 64 - row.layout.bits : 64;
    const bits = (row ? row.parts.raw : BigInt.asUintN(64, id)).toString(2).padStart(64, '0');
    const all = [...(unused ? [{ name: row ? 'unused' : 'all', kind: 'unused', bits: unused, shift: 64 - unused }] : []), ...fields];
    const of = field => bits.substr(64 - field.shift - field.bits, field.bits);
    $('bits-title').textContent = row ? `Its bits as ${row.name} cuts them${row.layout.enciphered ? ', deciphered' : ''}` : 'Its bits';
    $('bits').replaceChildren(...all.flatMap(field => [...of(field)].map((bit, i) =>
        element('i', { class: `${styleOf(field, fields)}${i === 0 ? ' first' : ''}` }, bit))));
    $('bits').setAttribute('aria-label', all.map(field => `${field.name}: ${of(field)}`).join('; '));
    $('parts-box').hidden = !row;
    $('parts').tBodies[0].replaceChildren(...fields.map((field, i) => element('tr', {},
        element('th', { scope: 'row' }, element('span', { class: `swatch ${styleOf(field, fields)}`, 'aria-hidden': 'true' }, String.fromCharCode(97 + i)), field.name),
        element('td', { class: 'whole' }, `${field.shift + field.bits - 1}..${field.shift}`), element('td', { class: 'number whole' }, grouped(field.value)),
        element('td', {}, meaning(field, row.layout, row.parts)))));
}

// Puts a text into the field, as if it had been typed.
function put(text, secret = '') {
    $('id').value = text;
    $('form').value = '';
    $('secret').value = secret;
    $('secret-box').open = secret !== '';
    chosen = null;
    showReading();
}

export function readThis(id) {
    put(id);
    $('read').scrollIntoView();
    $('id').focus({ preventScroll: true });
}

function fromAddress() {
    const [, text] = /^#id=(.*)$/.exec(location.hash) ?? [];
    if (text === undefined) return false;
    try { put(decodeURIComponent(text)); } catch { put(text); }
    return true;
}

$('form').append(element('option', { value: '' }, 'automatic'), ...FORMS.map(form => element('option', { value: form }, form)));
$('samples').append(...SAMPLES.map(([name, text, secret]) => element('button', { type: 'button', onclick: () => put(text, secret) }, name)));
for (const input of [$('id'), $('secret'), $('form')]) input.addEventListener('input', () => { chosen = null; showReading(); });
addEventListener('hashchange', fromAddress);
if (!fromAddress()) put(SAMPLES[1][1]);
