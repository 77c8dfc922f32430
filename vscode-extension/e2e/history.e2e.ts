// A week of snapshots in the editor: the versions of a file, a snapshot as a folder, marks beside changed lines.

import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, onTestFailed, test } from 'vitest';
import { clockOf, shellOf, UNSAVED, WEEK } from './project';
import { Server } from './server';
import { Undo } from './undo';
import { insist, until } from './until';
import { Workbench } from './workbench';

const CLI = join(process.env.SCRATCHFLOW_VENV ?? resolve('../.venv'), 'bin/scratchflow');
const SETTINGS = { 'scratchflow.cliPath': CLI };
const run = promisify(execFile);
const server = new Server();
const work = join(server.home, '.local/share/scratchflow/scratch/work');
const script = join(work, 'src/train.py');
const undo = new Undo();
let workbench: Workbench;

/** What a user would type in a terminal, at that moment. */
async function typed(when: string, ...argv: string[]): Promise<void> {
  const env = { PATH: process.env.PATH, HOME: server.home, LANG: 'C.UTF-8' };
  const [file = '', ...words] = [...clockOf(when), CLI, ...argv];
  await run(file, words, { env, cwd: server.home });
}

beforeAll(async () => {
  undo.later(() => server.stop());
  await server.start({ settings: SETTINGS });
  await typed('6 10:12', 'create');
  for (const state of WEEK) {
    await run('sh', ['-c', shellOf(state)], { cwd: work });
    await typed(state.when, 'backup', ...(state.message ? ['-m', state.message] : []));
  }
  workbench = await Workbench.open(server, work);
  undo.later(() => workbench.close());
  await workbench.statusSays('this machine · backup 3');
});

afterAll(() => undo.all());

beforeEach(({ task }) => {
  onTestFailed(() => workbench.failure(task.name));
});

const lines = (side: string, text: string) =>
  workbench.page.locator(`.monaco-diff-editor .editor.${side} .view-line`, { hasText: text });

async function versions(): Promise<void> {
  await workbench.command('Scratchflow: Show File History');
  await workbench.quickInput.getByText('Versions of work/src/train.py').waitFor();
  await workbench.toast('Looking for versions').waitFor({ state: 'detached' });
}

test('Show File History lists the versions of the current file by content, newest first', async () => {
  await workbench.openFile(script);
  const rows = workbench.page.locator('.quick-input-list .monaco-list-row');
  for (const theme of workbench.themes) {
    await workbench.page.keyboard.press('Escape');
    await workbench.useTheme(theme);
    await versions();
    // Of twelve snapshots, four changed it.
    await until('all versions are listed', async () => (await rows.count()) === 4);
    expect(await rows.last().innerText()).toContain('added');
    await workbench.picture(`history-${theme}`);
  }
});

test('any two versions are compared, the older one on the left', async () => {
  await workbench.choice(/^Sat|^Sun|^Mon|^Tue|^Wed|^Thu|^Fri/).click();
  await workbench.choice('Compare with Another Version').click();
  await workbench.choice('added').click();
  await lines('original', 'return base').waitFor();
  await lines('modified', 'cosine').first().waitFor();
  await workbench.pictures('compare');
  await workbench.command('View: Close All Editors');
});

test('a version is opened, and cannot be written to', async () => {
  await workbench.openFile(script);
  await versions();
  await workbench.choice('added').click();
  await workbench.choice('Open This Version').click();
  const line = workbench.page.locator('.view-line', { hasText: 'return base' });
  await line.first().click();
  await workbench.page.keyboard.type('x');
  await workbench.page.locator('.monaco-editor-overlaymessage', { hasText: 'read-only' }).waitFor();
  await workbench.command('View: Close All Editors');
});

test('marks beside the lines that differ from the last snapshot, only when wanted', async () => {
  await workbench.openFile(script);
  writeFileSync(script, UNSAVED);
  await workbench.page.locator('.view-line', { hasText: 'best.ckpt' }).first().waitFor();
  const marks = workbench.page.locator('.dirty-diff-glyph');
  expect(await marks.count()).toBe(0);
  server.writeSettings({ ...SETTINGS, 'scratchflow.gutterMarks': true });
  await workbench.load(work);
  // The window may remember editors that were closed a moment ago.
  await workbench.command('View: Close All Editors');
  await workbench.openFile(script);
  await marks.first().waitFor({ timeout: 60_000 });
  await workbench.page.locator('.dirty-diff-added').first().waitFor();
  await workbench.page.locator('.dirty-diff-modified').first().waitFor();
  await workbench.pictures('marks');
  await workbench.useTheme('dark');
  await workbench.shippedPicture('marks', workbench.page.locator('.part.editor'));
});

test('a backup is what is compared with from then on', async () => {
  await workbench.command('Scratchflow: Run Backup');
  await workbench.toast('Backed up: 1 file').waitFor();
  await workbench.clearToasts();
  const marks = workbench.page.locator('.dirty-diff-glyph');
  await until('no line differs any more', async () => (await marks.count()) === 0);
});

test('one version is restored, and what was there is kept', async () => {
  await versions();
  await workbench.choice('added').click();
  await workbench.choice('Restore This Version').click();
  await workbench.dialog.getByRole('button', { name: 'Restore File' }).click();
  await workbench.toast('is back as it was').waitFor();
  expect(readFileSync(script, 'utf8')).toBe(WEEK[0]?.files['src/train.py']);
  await workbench.clearToasts();
});

/** Uses the menu of a row; again when the view was drawn anew under it. */
async function browse(snapshot: string): Promise<Workbench> {
  const { page } = workbench;
  let window: Page | undefined;
  await insist(async () => {
    await page.keyboard.press('Escape');
    await workbench.row(snapshot).click({ button: 'right', timeout: 5_000 });
    const opened = page.context().waitForEvent('page', { timeout: 15_000 });
    const item = page.getByRole('menuitem', { name: 'Browse This Snapshot' });
    // In its first 100 ms, a menu does not listen when the button is let go.
    [window] = await Promise.all([opened, item.click({ timeout: 5_000, delay: 200 })]);
  });
  if (!window) throw new Error('no window was opened');
  return workbench.inWindow(window);
}

test('Browse This Snapshot opens it as a folder in another window, to read and not to write', async () => {
  await workbench.openSideBar();
  const other = await browse('submitted version');
  undo.later(() => other.page.close());
  await other.explorer('work').click();
  await other.explorer('src').click();
  await other.explorer('train.py').dblclick();
  await other.page.locator('.view-line', { hasText: 'cosine' }).first().click();
  await other.page.keyboard.type('x');
  await other.page.locator('.monaco-editor-overlaymessage', { hasText: 'read-only' }).waitFor();
  expect(await other.page.locator('.view-line', { hasText: 'levels=5' }).count()).toBe(0);
});
