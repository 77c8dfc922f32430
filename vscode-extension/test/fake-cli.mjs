#!/usr/bin/env node
// Plays the CLI: does what `play.json` beside it says for the verb it is called with, and notes each
// call in `calls.jsonl`. Steps: {line}, {recording}, {raw}, {stderr}, {sleepMs}, {hang}, {exit}.
// `onSigint` is what a verb does when it is interrupted; without it a signal just ends it.
import { appendFileSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const beside = dirname(process.argv[1]);
const recordings = join(dirname(realpathSync(fileURLToPath(import.meta.url))), 'recordings');
const words = process.argv.slice(2).filter((word) => !word.startsWith('-'));
const play = JSON.parse(readFileSync(join(beside, 'play.json'), 'utf8'));
const names = [process.argv.slice(2, 4), words.slice(0, 2), words.slice(0, 1)];
const op = names.map((name) => name.join(' ')).find((name) => name in play) ?? '';
const note = (what) =>
    appendFileSync(
        join(beside, 'calls.jsonl'),
        JSON.stringify({ pid: process.pid, ...what }) + '\n',
    );

let seq = 0;
let isStopped = false;
note({ argv: process.argv.slice(2), cwd: process.cwd(), env: Object.keys(process.env) });

process.on('SIGINT', () => {
    note({ signal: 'SIGINT' });
    isStopped = true;
    void perform(play[op]?.onSigint ?? [{ exit: 130 }]);
});

function write(line) {
    const envelope = { v: 1, seq: seq++, ts: new Date().toISOString(), op };
    process.stdout.write(JSON.stringify({ ...envelope, ...line }) + '\n');
}

const HELLO = { type: 'hello', version: '0.1.0', pid: process.pid, host: 'fake', role: 'laptop' };

const STEPS = {
    hello: (version) => write({ ...HELLO, ...(version === true ? {} : version) }),
    line: (line) => write(line),
    recording: (name) => process.stdout.write(readFileSync(join(recordings, `${name}.jsonl`))),
    raw: (text) => process.stdout.write(text),
    stderr: (text) => process.stderr.write(text),
    sleepMs: (ms) => new Promise((done) => setTimeout(done, ms)),
    hang: () => new Promise(() => setInterval(() => undefined, 1000)),
    exit: (code) => process.exit(code),
};

async function perform(steps, isDone = () => false) {
    for (const step of steps) {
        for (const [name, value] of Object.entries(step)) {
            if (isDone()) return;
            await STEPS[name](value);
        }
    }
}

// A dry run may have steps of its own.
const dry = process.argv.includes('--dry-run') ? play[`${op} --dry-run`] : undefined;
const { steps = [{ exit: 2 }] } = dry ?? play[op] ?? {};
await perform(steps, () => isStopped);
