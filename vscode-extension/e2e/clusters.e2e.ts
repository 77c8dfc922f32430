// Two profiles of one cluster, each with a home of its own: the view Clusters, a window's own profile, and a conflict
// of `sync` that is decided in the side bar. Real CLI, real Slurm cluster, real unison.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, onTestFailed, test } from 'vitest';
import { Cluster } from './cluster';
import { CLI, Laptop } from './laptop';
import { openOnCluster } from './onCluster';
import { Server } from './server';
import { Undo } from './undo';
import { until } from './until';
import type { Workbench } from './workbench';

const SETTINGS = { 'scratchflow.cliPath': CLI };
/** The accounts that the profiles log in to. */
const USERS = { uni: 'alice', aws: 'bob' } as const;
const server = new Server();
const laptop = new Laptop(server.home);
const cluster = new Cluster();
const undo = new Undo();
let workbench: Workbench;

const inHome = (profile: keyof typeof USERS, script: string) =>
  cluster.exec('login', USERS[profile], 'sh', '-c', `cd ~ && ${script}`);
const read = (profile: keyof typeof USERS, path: string) => inHome(profile, `cat ${path}`);

/** How often the extension asked all clusters, as its log says. */
async function timesAsked(): Promise<number> {
  const logs = join(server.root, 'data/logs');
  const names = await readdir(logs, { recursive: true });
  const texts = names
    .filter((name) => name.endsWith('-scratchflow.log'))
    .map((name) => readFile(join(logs, name), 'utf8'));
  return (await Promise.all(texts)).join('\n').split('status --all --json').length - 1;
}

async function before(): Promise<void> {
  for (const [name, login] of [
    ['uni', 'login'],
    ['aws', 'bob@login'],
  ] as const) {
    const answers = ['--name', name, '--store', '/fsx/$USER/store', '--partition', 'dev'];
    await laptop.typed('setup', login, ...answers, '--yes');
  }
  await laptop.typed('profiles', 'use', 'uni');
  // What moves from one to the other has one name.
  await laptop.typed('-p', 'aws', 'config', 'set', 'workspace', 'work');
  await laptop.typed('profiles', 'add', 'mila', '--login', 'nosuch.invalid');
  await laptop.typed('config', 'set', 'sync.profiles', '["uni", "aws"]');
  await laptop.typed('config', 'set', 'sync.folders', '["notes"]');
  await inHome('uni', 'mkdir notes && echo first > notes/todo.md && echo same > notes/plan.md');
  await laptop.typed('-p', 'uni', 'up', '--time', '1h');
}

beforeAll(async () => {
  workbench = await openOnCluster({ cluster, server, undo }, { settings: SETTINGS, before });
});

afterAll(() => undo.all());

beforeEach(({ task }) => {
  onTestFailed(() => workbench.failure(task.name));
});

test('every profile is listed with its node or the reason why it is silent', async () => {
  await workbench.statusSays(/node-\d/);
  await workbench.command('Scratchflow: Show Clusters');
  // Room for all of its rows.
  for (const title of ['Nodes', 'Snapshots', 'Allocation']) await workbench.fold(title);
  await workbench.row(/^uni.*node-\d · \d+ min left.*this window/).waitFor({ timeout: 60_000 });
  await workbench.row(/^aws.*no node · no backup yet/).waitFor();
  await workbench.row(/^mila.*cannot find a host/).waitFor();
  await workbench.row(/^uni ↔ aws.*not synced from here yet/).waitFor();
});

test('a window gets another profile from the view, and another window does not', async () => {
  const own = workbench.row(/^aws.*this window/);
  await workbench.pressOn(workbench.row(/^aws/), 'Switch Profile in This Window', own);
  await workbench.statusSays('no node');
  const other = workbench.inWindow(await workbench.page.context().newPage());
  const folder = join(server.root, 'elsewhere');
  await other.load(folder);
  await other.statusSays(/node-\d/);
  await other.page.close();
  // It is remembered for this folder.
  await workbench.load();
  await workbench.statusSays('no node');
});

test('the palette gives the window back what all windows have', async () => {
  await workbench.command('Scratchflow: Switch Profile in This Window');
  await workbench.choice('aws').filter({ hasText: 'this window’s' }).waitFor();
  await workbench.choice('As in other windows').click();
  await workbench.statusSays(/node-\d/);
  await workbench.command('Scratchflow: Show Clusters');
  await workbench.row(/^uni.*this window/).waitFor({ timeout: 60_000 });
});

test('homes are synced from the view', async () => {
  const brought = workbench.toast('1 change to aws, 0 changes to uni');
  await workbench.pressOn(workbench.row(/^uni ↔ aws/), 'Sync Homes', brought);
  await workbench.row(/^uni ↔ aws.*synced just now/).waitFor();
  expect(await read('aws', 'notes/todo.md')).toBe('first\n');
  await workbench.clearToasts();
});

test('a conflict is listed by its name and decided from the view', async () => {
  await inHome(
    'uni',
    'echo of uni, longer > notes/todo.md && echo new plan of uni > notes/plan.md',
  );
  await inHome('aws', 'echo of aws > notes/todo.md && rm notes/plan.md');
  const found = workbench.toast('2 conflicts. Nothing was changed.');
  await workbench.pressOn(workbench.row(/^uni ↔ aws/), 'Look for Conflicts', found);
  await workbench.row(/^notes\/plan\.md.*changed on uni, deleted on aws/).waitFor();
  const conflict = workbench.row(/^notes\/todo\.md.*changed on uni, changed on aws/);
  await conflict.waitFor();
  await workbench.clearToasts();
  await workbench.widenSideBar(180);
  for (const theme of workbench.themes) {
    await workbench.page.keyboard.press('Escape');
    await workbench.useTheme(theme);
    await workbench.pressOn(conflict, 'Keep One', workbench.choice('Keep the One of aws'));
    await workbench.picture(`clusters-${theme}`);
  }
  await workbench.choice('Keep the One of aws').click();
  await workbench.toast('Both homes have notes/todo.md as on aws now').waitFor({ timeout: 60_000 });
  await until('the list is drawn anew', async () => (await conflict.count()) === 0);
  await workbench.row(/^uni ↔ aws.*1 conflict/).waitFor();
  expect(await read('uni', 'notes/todo.md')).toBe('of aws\n');
  expect(await read('uni', '.unison/backup/notes/todo.md')).toBe('of uni, longer\n');
  // The other one is as it was, on both sides.
  expect(await read('uni', 'notes/plan.md')).toBe('new plan of uni\n');
  expect(await inHome('aws', 'ls notes')).toBe('todo.md\n');
});

test('after a command, and while the view stays open, no cluster but its own is asked', async () => {
  const asked = await timesAsked();
  expect(asked).toBeGreaterThan(0);
  await workbench.command('Scratchflow: Run Backup');
  await workbench.toast(/Backed up|Nothing changed/).waitFor({ timeout: 60_000 });
  await workbench.row(/^uni.*this window/).waitFor();
  expect(await timesAsked()).toBe(asked);
  const pane = workbench.pane('Clusters');
  await pane.hover();
  await pane.getByRole('button', { name: 'Refresh' }).click();
  await until('all are asked again', async () => (await timesAsked()) > asked);
});

test('the workspace moves to the other cluster, and the window with it', async () => {
  await workbench.clearToasts();
  const asks = workbench.dialog.getByText('Move the workspace from uni to aws?');
  await workbench.pressOn(workbench.row(/^aws/), 'Move Workspace to This Cluster', asks);
  await workbench.dialog.getByRole('button', { name: 'Move' }).click();
  const moved = workbench.toast(/The workspace is on node-\d of aws, and so is this window/);
  await moved.waitFor({ timeout: 100_000 });
  await workbench.statusSays(/node-\d/);
  await workbench.row(/^aws.*node-\d.*this window/).waitFor({ timeout: 60_000 });
  expect(await cluster.jobs('alice')).toEqual([]);
  expect(await cluster.jobs('bob')).toHaveLength(1);
});
