// The editor on the node: VS Code's own server is copied onto the node through the alias, runs there inside the job, and
// is opened in a browser through a tunnel, while the laptop's window, with our extension, backs up. The server serves the
// workbench itself. A `vscode-remote:` URI opened in the laptop's workbench would prove nothing: a workbench in a browser
// keeps the path of it alone, and opens that on the laptop.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, onTestFailed, test } from 'vitest';
import { Cluster } from './cluster';
import { CLI, Laptop } from './laptop';
import { answers, NodeServer, tunnelTo } from './nodeServer';
import { Server } from './server';
import { together, Undo } from './undo';
import { until } from './until';
import { Workbench } from './workbench';

const SCRATCH = '/scratch/alice';
const WORK = `${SCRATCH}/work`;
const SOCKET = `${SCRATCH}/editor.sock`;
const EXPLORER = '.explorer-folders-view .monaco-list-row';
/** How often each way to open it is timed, if at all: that checks nothing which the other tests do not. */
const ROUNDS = Number(process.env.SCRATCHFLOW_ROUNDS ?? 0);
/** `gluster`: shared storage is a network file system, with a mount of each host's own. */
const FSX = process.env.SCRATCHFLOW_TEST_FSX ?? 'directory';

const server = new Server();
const cluster = new Cluster();
const laptop = new Laptop(server.home);
const onScratch = new NodeServer(laptop, SCRATCH, SOCKET);
const undo = new Undo();
const windows = new Map<string, Workbench>();
let laptopWindow: Workbench;
let nodeWindow: Workbench;
let url = '';

beforeAll(async () => {
  undo.later(() => cluster.stop());
  // A session of ssh belongs to the job, and ends with it.
  const starts = cluster.start({ MC_NODES: '2', MC_PAM: 'adopt', MC_FSX: FSX });
  undo.later(() => server.stop());
  await together(starts, server.start({ settings: { 'scratchflow.cliPath': CLI } }));
  cluster.introduceTo(server.home);
  const answered = ['login', '--store', '/fsx/$USER/store', '--partition', 'dev'];
  await laptop.typed('setup', ...answered, '--yes');
  await laptop.typed('up', '--time', '2h');
  await laptop.onNode(`mkdir ${WORK}/src; echo begun > ${WORK}/notes.txt`);
  await laptop.typed('backup');
  laptopWindow = await Workbench.open(server);
  windows.set('laptop', laptopWindow);
  undo.later(() => laptopWindow.close());
  undo.later(async () => {
    await laptop.typed('serve', 'stop', '--all');
  });
});

afterAll(() => undo.all());

beforeEach(({ task }) => {
  onTestFailed(async () => {
    for (const [name, window] of windows) await window.failure(`${task.name}-${name}`);
    console.error(await onScratch.log().catch(String));
  });
});

/** The node that the alias leads to, by Slurm's word and not by the editor's. */
async function node(): Promise<string> {
  // A job that was given back a moment ago is still completing.
  return (
    await cluster.exec('login', 'alice', 'squeue', '--me', '-h', '-t', 'R', '-o', '%N')
  ).trim();
}

/** A new browser on the node's server, which has nothing of it in its cache. */
async function browser(name: string): Promise<Workbench> {
  const opened = { root: join(server.root, name), url, folder: WORK };
  return Workbench.launch(opened, `${EXPLORER}:has-text("notes.txt")`);
}

/** Types a line into the terminal of the node's window, and waits for what it prints. */
async function printed(window: Workbench, line: string, text: string): Promise<void> {
  await window.page.keyboard.type(line);
  await window.page.keyboard.press('Enter');
  await window.terminal.filter({ hasText: text }).waitFor({ timeout: 60_000 });
}

/** What its terminal says of where it is: on the node, and in the cgroup of the job. */
async function isInTheJob(window: Workbench): Promise<void> {
  const [job = ''] = await cluster.jobs('alice');
  await window.command('Terminal: Create New Terminal');
  await window.terminal.filter({ hasText: '$' }).waitFor({ timeout: 60_000 });
  await printed(window, 'echo on:$(hostname):', `on:${await node()}:`);
  const name = String.raw`echo in:$(grep -o "job_[0-9]*" /proc/self/cgroup | head -1):`;
  await printed(window, name, `in:job_${job}:`);
}

async function openOnNode(name: string): Promise<Workbench> {
  await onScratch.bring();
  const pid = await onScratch.start();
  url ||= await tunnelTo(laptop, SOCKET);
  await answers(url);
  expect(await isRunning(await node(), pid)).toBe(true);
  const window = await browser(name);
  windows.set('node', window);
  undo.later(() => window.close());
  await window.load();
  return window;
}

async function isRunning(host: string, pid: number): Promise<boolean> {
  const look = `cat /proc/${pid}/cmdline 2>/dev/null | grep -q server-main.js && echo yes; true`;
  return (await cluster.exec(host, 'alice', 'sh', '-c', look)) === 'yes\n';
}

test('opened through the alias, the Explorer lists the workspace, and the terminal is in the job', async () => {
  nodeWindow = await openOnNode('first-window');
  await nodeWindow.page.locator(EXPLORER, { hasText: 'src' }).waitFor();
  // It is listed by the node: on this machine there is no such folder.
  expect(existsSync(WORK)).toBe(false);
  await isInTheJob(nodeWindow);
});

test('an edit is saved on the node, and Run Backup of the laptop’s window stores it', async () => {
  const { page } = nodeWindow;
  await page.locator(EXPLORER, { hasText: 'notes.txt' }).dblclick();
  await page.locator('.editor-instance .view-line', { hasText: 'begun' }).click();
  await page.keyboard.press('Control+Home');
  await page.keyboard.type('edited ');
  await page.keyboard.press('Control+s');
  await until('the edit is saved', async () => {
    return (await laptop.onNode(`cat ${WORK}/notes.txt`)) === 'edited begun\n';
  });
  await laptopWindow.command('Scratchflow: Run Backup');
  await laptopWindow.toast('Backed up: 1 file').waitFor({ timeout: 60_000 });
  expect(await laptop.typed('snapshots', 'cat', 'latest', 'notes.txt')).toBe('edited begun\n');
});

test('hop ends the server with the old job, and on the new node the same steps show the edit', async () => {
  const old = await node();
  // Its processes, without the shell that asks.
  const ask = `pgrep -c -f '^${SCRATCH}/[.]node-editor/bin/'; true`;
  const count = async () => Number(await cluster.exec(old, 'alice', 'sh', '-c', ask));
  expect(await count()).toBeGreaterThan(0);
  await laptop.typed('hop', '--time', '2h');
  expect(await node()).not.toBe(old);
  await until('nothing of the server runs on the old node', async () => (await count()) === 0);
  await nodeWindow.close();
  nodeWindow = await openOnNode('second-window');
  await isInTheJob(nodeWindow);
  await nodeWindow.page.locator(EXPLORER, { hasText: 'notes.txt' }).dblclick();
  await nodeWindow.page.locator('.editor-instance .view-line', { hasText: 'edited' }).waitFor();
  await nodeWindow.close();
  await onScratch.stop();
}, 240_000);

/** Seconds until the server answers, and until the Explorer lists the workspace. */
interface Taken {
  readonly answered: number;
  readonly listed: number;
}

/** From the start of the server, and of what is done before it. */
async function timed(name: string, there: NodeServer, before = async () => {}): Promise<Taken> {
  const window = await browser(name);
  try {
    const begunMs = performance.now();
    const passed = () => (performance.now() - begunMs) / 1000;
    await before();
    await there.start();
    await answers(url);
    const answered = passed();
    await window.load();
    return { answered, listed: passed() };
  } finally {
    await window.close();
    await there.stop();
  }
}

/** On scratch a node that is new to it has to be brought it; what lies on shared storage, another node has brought. */
async function cold(name: string, place: string, there: NodeServer): Promise<Taken> {
  if (place === SCRATCH) {
    await there.remove();
    return timed(name, there, () => there.bring());
  }
  await there.forget();
  return timed(name, there);
}

function median(times: readonly number[]): string {
  const sorted = times.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)]?.toFixed(1) ?? '?';
}

function words(rounds: readonly Taken[]): string {
  const all = rounds.map(({ listed }) => listed.toFixed(1)).join(', ');
  const answered = median(rounds.map((one) => one.answered));
  return `${median(rounds.map(({ listed }) => listed))} s (${all}; the server answered after ${answered})`;
}

// How long it takes is told, and nothing is expected of it.
test.runIf(ROUNDS)(
  'it opens from scratch and from shared storage, on a node that had it and on one that had not',
  async () => {
    const shared = ['/home/alice', ...(FSX === 'directory' ? [] : ['/fsx/alice'])];
    const places = [...shared, SCRATCH].map((place) => ({
      place,
      there: new NodeServer(laptop, place, SOCKET),
      coldly: [] as Taken[],
      warmly: [] as Taken[],
    }));
    for (const { place, there } of places) if (place !== SCRATCH) await there.bring();
    // In turns, so that a busy machine slows down all of them alike.
    for (let round = 1; round <= ROUNDS; round += 1)
      for (const { place, there, coldly, warmly } of places) {
        const name = `${place.replaceAll('/', '-')}-${round}`;
        coldly.push(await cold(`${name}-cold`, place, there));
        warmly.push(await timed(`${name}-warm`, there));
      }
    for (const { place, coldly, warmly } of places)
      console.log(`the server in ${place}: cold ${words(coldly)}, warm ${words(warmly)}`);
  },
  120_000 + ROUNDS * 300_000,
);
