// Debian's Chromium without a window, told over a pipe what to do (the DevTools protocol), and a server of files beside it.
import { spawn } from 'node:child_process';
import { createReadStream, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.gz': 'application/gzip', '.svg': 'image/svg+xml' };

// Serves a directory on a free port of this machine; `unpacking`: says of .gz that it is an encoding, as some servers do.
export async function serve(directory, unpacking = false) {
    const server = createServer((request, response) => {
        const path = join(directory, decodeURIComponent(new URL(request.url, 'http://x').pathname).replace(/\/$/, '/index.html'));
        if (!existsSync(path)) return response.writeHead(404).end();
        response.setHeader('content-type', TYPES[extname(path)] ?? 'application/octet-stream');
        if (unpacking && extname(path) === '.gz') response.setHeader('content-encoding', 'gzip');
        createReadStream(path).pipe(response);
    });
    await new Promise(listening => server.listen(0, '127.0.0.1', listening));
    return { url: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}

// A browser with one page. `asked` has the addresses that it asked for, `faults` what it complained of.
export async function browse() {
    const home = mkdtempSync(join(tmpdir(), 'chromium-'));
    const chromium = spawn('chromium', ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-dev-shm-usage', '--no-first-run', '--hide-scrollbars',
        '--disable-background-networking', '--disable-component-update', '--disable-sync', `--user-data-dir=${home}`, '--remote-debugging-pipe', 'about:blank'],
    { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'], env: { ...process.env, HOME: home } });
    const waiting = new Map(), listeners = [], asked = [], faults = [];
    let last = 0, received = '', session;
    const ended = new Promise(resolve => chromium.on('exit', resolve));
    chromium.on('error', error => { for (const { reject } of waiting.values()) reject(error) });
    chromium.on('exit', code => { for (const { reject } of waiting.values()) reject(new Error(`Chromium ended with ${code}`)) });
    chromium.stdio[4].setEncoding('utf8').on('data', data => {
        const messages = (received + data).split('\0');
        received = messages.pop();
        for (const { id, result, error, method, params } of messages.map(message => JSON.parse(message))) {
            if (!id) for (const listener of listeners) listener(method, params);
            else if (error) waiting.get(id).reject(new Error(error.message));
            else waiting.get(id).resolve(result);
        }
    });
    const send = (method, params = {}) => new Promise((resolve, reject) => {
        waiting.set(++last, { resolve, reject });
        chromium.stdio[3].write(`${JSON.stringify({ id: last, method, params, sessionId: session })}\0`);
    });
    listeners.push((method, params) => {
        if (method === 'Network.requestWillBeSent') asked.push(params.request.url);
        if (method === 'Runtime.exceptionThrown') faults.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
        if (method === 'Log.entryAdded' && ['error', 'warning'].includes(params.entry.level)) faults.push(params.entry.text);
        if (method === 'Runtime.consoleAPICalled' && ['error', 'warning'].includes(params.type)) faults.push(params.args.map(arg => arg.value).join(' '));
    });

    const { targetInfos } = await send('Target.getTargets');
    ({ sessionId: session } = await send('Target.attachToTarget', { targetId: targetInfos.find(({ type }) => type === 'page').targetId, flatten: true }));
    for (const domain of ['Page', 'Runtime', 'Network', 'Log']) await send(`${domain}.enable`);

    // The value of a function of the page; `args` are JSON.
    const evaluate = async (code, ...args) => {
        const { result, exceptionDetails } = await send('Runtime.evaluate', { expression: `(${code})(...${JSON.stringify(args)})`, awaitPromise: true, returnByValue: true, userGesture: true });
        if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
        return result.value;
    };
    const until = condition => evaluate(`() => new Promise(resolve => { const look = () => (${condition})() ? resolve() : setTimeout(look, 20); look(); })`);
    const KEYS = { Tab: 9, Enter: 13, ArrowLeft: 37, ArrowRight: 39 };
    const key = async (name, modifiers = 0) => {
        const event = { key: name, code: name, windowsVirtualKeyCode: KEYS[name], modifiers, ...(name === 'Enter' ? { text: '\r' } : {}) };
        await send('Input.dispatchKeyEvent', { type: 'keyDown', ...event });
        await send('Input.dispatchKeyEvent', { type: 'keyUp', ...event });
    };
    return {
        asked, faults, send, evaluate, until, key,
        // Opens a page that is so wide and has that scheme, and waits until it says that it is ready.
        async open(url, width = 1280, scheme = 'light') {
            await send('Emulation.setDeviceMetricsOverride', { width, height: 900, deviceScaleFactor: 1, mobile: false });
            await send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }, { name: 'prefers-reduced-motion', value: 'reduce' }] });
            await send('Page.navigate', { url: 'about:blank' });
            await send('Page.navigate', { url });
            await until(`() => location.href.startsWith('http') && document.documentElement?.dataset.ready`);
        },
        // Puts a text in the place of a field's, as who pastes it does.
        async type(selector, words) {
            await evaluate(`selector => { const field = document.querySelector(selector); field.focus(); field.select(); }`, selector);
            await send('Input.insertText', { text: words });
        },
        click: selector => evaluate(`selector => document.querySelector(selector).click()`, selector),
        text: selector => evaluate(`selector => document.querySelector(selector).textContent`, selector),
        // A picture of an element, or of the whole page.
        async picture(selector) {
            const clip = await evaluate(`selector => { const { x, y, width, height } = document.querySelector(selector).getBoundingClientRect();
                return { x: x + scrollX, y: y + scrollY, width, height, scale: 1 }; }`, selector ?? 'html');
            return Buffer.from((await send('Page.captureScreenshot', { clip, captureBeyondViewport: true })).data, 'base64');
        },
        async close() {
            send('Browser.close').catch(() => { });
            await ended;
            rmSync(home, { recursive: true, force: true, maxRetries: 5 });
        },
    };
}
