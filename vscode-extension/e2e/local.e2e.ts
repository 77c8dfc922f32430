// A machine without scratchflow and without a cluster: one click installs it, and the whole history of a
// workspace can be used from the side bar.

import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, onTestFailed, test } from 'vitest';
import { WEEK } from './project';
import { Server } from './server';
import { Undo } from './undo';
import { until } from './until';
import { Workbench } from './workbench';

const server = new Server();
const work = join(server.home, '.local/share/scratchflow/scratch/work');
const undo = new Undo();
let workbench: Workbench;

beforeAll(async () => {
  undo.later(() => server.stop());
  // Draws a terminal's text as text, which can be read here.
  const settings = { 'terminal.integrated.gpuAcceleration': 'off' };
  await server.start({ settings, files: WEEK[0]?.files ?? {} });
  workbench = await Workbench.open(server);
  undo.later(() => workbench.close());
});

afterAll(() => undo.all());

beforeEach(({ task }) => {
  onTestFailed(() => workbench.failure(task.name));
});

const snapshots = () => workbench.rows(/ B · /);

/** Waits until the side bar lists that many snapshots: what is clicked earlier may be another one. */
async function listed(count: number): Promise<void> {
  await until(`${count} snapshots are listed`, async () => (await snapshots().count()) === count);
}

async function backUp(said: string): Promise<void> {
  await workbench.command('Scratchflow: Run Backup');
  await workbench.toast(said).waitFor();
  await workbench.clearToasts();
}

test('without the command line, one click installs it', async () => {
  await workbench.statusSays('scratchflow: install');
  await workbench.openSideBar();
  await workbench.sideBar.getByText('which is not installed yet').waitFor();
  await workbench.openFile(join(server.folder, 'src/train.py'));
  await workbench.pictures('install');
  await workbench.command('View: Close All Editors');
  await workbench.sideBar.getByRole('button', { name: 'Install scratchflow' }).click();
  await workbench.toast('scratchflow is installed').waitFor({ timeout: 180_000 });
  await workbench.statusSays('this machine · no backup yet');
  await workbench.clearToasts();
  await workbench.command('Terminal: Create New Terminal');
  await workbench.terminal.filter({ hasText: /[$#]/ }).waitFor({ timeout: 60_000 });
  await workbench.page.keyboard.type('scratchflow --version | sed s/^/found:/\n');
  await workbench.terminal.filter({ hasText: /found:scratchflow/ }).waitFor({ timeout: 60_000 });
  await workbench.command('Terminal: Kill All Terminals');
  // To install it takes minutes on a busy machine.
}, 300_000);

test('Create Workspace and Run Backup work on this machine', async () => {
  await workbench.command('Scratchflow: Create Workspace');
  await workbench.toast('The workspace is').waitFor();
  await workbench.clearToasts();
  writeFileSync(join(work, 'main.py'), 'print("one")\n');
  await backUp('Backed up: 1 file');
  await workbench.statusSays('this machine · backup just now');
});

test('a file is compared with its version in a snapshot, in the diff editor', async () => {
  await listed(2);
  await workbench.openRow(snapshots().first());
  await workbench.openRow(workbench.row(/^work$/));
  const file = workbench.row('main.py');
  await file.waitFor();
  writeFileSync(join(work, 'main.py'), 'print("two")\n');
  const diff = workbench.page.locator('.monaco-diff-editor');
  await workbench.pressOn(file, 'Compare with Workspace', diff);
  await diff.locator('.editor.original .view-line', { hasText: '"one"' }).waitFor();
  await diff.locator('.editor.modified .view-line', { hasText: '"two"' }).waitFor();
  await diff.locator('.editor.original .view-line', { hasText: '"one"' }).click();
  await workbench.page.keyboard.type('x');
  await workbench.page.locator('.monaco-editor-overlaymessage', { hasText: 'read-only' }).waitFor();
});

test('what changed since a snapshot is listed, and both versions are shown', async () => {
  await backUp('Backed up: 1 file');
  await workbench.command('View: Close All Editors');
  await listed(3);
  const older = snapshots().nth(1);
  const changed = workbench.choice('~ work/main.py');
  await workbench.pressOn(older, 'Show What Changed', changed);
  await changed.click();
  const diff = workbench.page.locator('.monaco-diff-editor');
  await diff.locator('.editor.modified .view-line', { hasText: '"two"' }).waitFor();
  await workbench.command('View: Close All Editors');
});

test('one file comes back from a snapshot', async () => {
  const file = workbench.row('main.py');
  const sure = workbench.dialog.getByRole('button', { name: 'Restore File' });
  await workbench.pressOn(file, 'Restore This File', sure);
  await sure.click();
  await workbench.toast('is back as it was').waitFor();
  expect(readFileSync(join(work, 'main.py'), 'utf8')).toBe('print("one")\n');
  await workbench.clearToasts();
});

test('a forwarded port is in the side bar, leads there, and ends with Stop', async () => {
  const there = createServer((_, response) => response.end('from the node'));
  const port = await new Promise<number>((done) =>
    there.listen(0, '127.0.0.1', () => done((there.address() as AddressInfo).port)),
  );
  undo.later(async () => {
    const closed = new Promise((done) => there.close(done));
    there.closeAllConnections();
    await closed;
  });
  await workbench.command('Scratchflow: Forward Port');
  await workbench.quickInput.getByText('A port of the node').waitFor();
  await workbench.page.keyboard.type(`${port}`);
  await workbench.page.keyboard.press('Enter');
  const row = workbench.row(`port-${port}`);
  await row.waitFor({ timeout: 60_000 });
  const said = await workbench.said(`leads to port ${port}`);
  const local = /Port (\d+) of this/.exec(said)?.[1] ?? '';
  expect(await (await fetch(`http://127.0.0.1:${local}/`)).text()).toBe('from the node');
  await workbench.clearToasts();
  await workbench.pressOn(row, 'Copy URL', workbench.toast('is on the clipboard'));
  await workbench.clearToasts();
  await row.hover();
  await row.getByRole('button', { name: 'Stop' }).click();
  await row.waitFor({ state: 'detached' });
  await expect(fetch(`http://127.0.0.1:${local}/`)).rejects.toThrow();
});

test('the walkthrough leads through the first hour', async () => {
  await workbench.command('Welcome: Open Walkthrough');
  await workbench.choice('Your first hour with scratchflow').click();
  await workbench.page.getByText('Tell it about your cluster').first().waitFor();
  await workbench.page.getByText('Take a compute node').first().waitFor();
  await workbench.tick('install', true).waitFor();
  await workbench.tick('setup', false).waitFor();
});

// Not right after the file came back: more than four notifications within a second stay in the bell.
test('an error says what to do, with a button for it and one for the log', async () => {
  await workbench.command('Scratchflow: Create Workspace');
  const toast = workbench.toast(/already has snapshots/);
  await toast.waitFor();
  await workbench.press(toast, 'Show Log');
  await workbench.page
    .locator('.part.panel .view-line', { hasText: 'scratchflow create --json' })
    .first()
    .waitFor();
  await workbench.command('View: Hide Panel');
  await workbench.clearToasts();
});
