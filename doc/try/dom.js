// What the parts of the page share: elements, the presets, and how numbers and moments are written.
import * as core from './core.js';
import presetsMade from './presets.js';

export const $ = id => document.getElementById(id);

// An element with attributes, of which `on...` are listeners, and children.
export function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
        else if (value !== null && value !== false) made.setAttribute(name, value === true ? '' : value);
    }
    made.append(...children.filter(child => child !== null && child !== undefined));
    return made;
}

// Says a sentence in a place that screen readers listen to. They repeat what is set anew, so the same is not.
export function say(place, words, bad = false) {
    if (place.textContent !== words) place.textContent = words;
    place.classList.toggle('bad', bad);
}

export const presets = presetsMade.map(preset => ({ ...preset, layout: core.layout(preset.text) }));
export const nowUs = () => BigInt(Date.now()) * 1000n;
export const grouped = number => BigInt(number).toString().replace(/\B(?=(\d{3})+$)/g, '\u202f');
export const plural = (count, word) => `${count} ${word}${count === 1 ? '' : 's'}`;

// The class that colours a field; the fields of a node after its first one are lighter.
export function styleOf(field, fields) {
    const first = fields.find(({ kind }) => kind === 'node');
    return field.kind + (field.kind === 'node' && field.name !== first.name ? ' second' : '');
}
