// The whole loop as a user walks it, in a real workbench, with the real CLI, on a real Slurm cluster.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, onTestFailed, test } from 'vitest';
import { Cluster } from './cluster';
import { hardToRead } from './contrast';
import { CLI, Laptop } from './laptop';
import { openOnCluster } from './onCluster';
import { Server } from './server';
import { Undo } from './undo';
import { until } from './until';
import type { Workbench } from './workbench';

const WORK = '/scratch/alice/work';
const SETTINGS = {
  'scratchflow.cliPath': CLI,
  'scratchflow.slurm.time': '3:00:00',
  // Draws a terminal's text as text, which can be read here.
  'terminal.integrated.gpuAcceleration': 'off',
};
const server = new Server();
const laptop = new Laptop(server.home);
const cluster = new Cluster();
const undo = new Undo();
let workbench: Workbench;

beforeAll(async () => {
  const like = { MC_GPU_TYPES: 'a100 l4' };
  workbench = await openOnCluster({ cluster, server, undo }, { settings: SETTINGS, like });
});

afterAll(() => undo.all());

beforeEach(({ task }) => {
  onTestFailed(async () => {
    await workbench.failure(task.name);
    console.error(outputChannel().split('\n').slice(-40).join('\n'));
  });
});

/** What the extension wrote to its output channel. */
function outputChannel(): string {
  const logs = join(server.root, 'data/logs');
  if (!existsSync(logs)) return '';
  const files = readdirSync(logs, { recursive: true, encoding: 'utf8' });
  const named = files.filter((file) => file.endsWith('-scratchflow.log'));
  return named.map((file) => readFileSync(join(logs, file), 'utf8')).join('\n');
}

/** Answers the input box whose title begins like this. */
async function answer(title: string, text: string): Promise<void> {
  await workbench.quickInput.getByText(title).waitFor();
  await workbench.page.keyboard.press('Control+a');
  await workbench.page.keyboard.type(text);
  await workbench.page.keyboard.press('Enter');
}

async function onNode(node: string, script: string): Promise<string> {
  return cluster.exec(node, 'alice', 'sh', '-c', script);
}

test('the log tells how long activation took', async () => {
  await until('the log tells', () => /activated in [\d.]+ ms/.test(outputChannel()));
  console.log(/activated in [\d.]+ ms/.exec(outputChannel())?.[0]);
});

test('Set Up Cluster shows what changes, then does it', async () => {
  await workbench.command('Scratchflow: Set Up Cluster');
  await answer('(1 of 3)', 'login');
  await answer('(2 of 3)', '/fsx/$USER/store');
  await answer('(3 of 3)', 'dev');
  await workbench.quickInput.getByText('Set up login as profile').waitFor({ timeout: 60_000 });
  await workbench.page.locator('.view-line', { hasText: 'Include' }).first().waitFor();
  await workbench.choice('Set Up').click();
  await workbench.toast('login is ready to use').waitFor({ timeout: 120_000 });
  await workbench.clearToasts();
  await workbench.command('View: Close All Editors');
  await workbench.statusSays('no node');
  await workbench.command('Scratchflow: Show Nodes');
  await workbench.widenSideBar(50);
});

test('Cancel while pending withdraws the job at once', async () => {
  await cluster.exec(
    'login',
    'bob',
    'sbatch',
    '--nodes=3',
    '--exclusive',
    '--partition=debug',
    '--wrap=sleep 300',
  );
  await until(
    'bob has all nodes',
    async () => (await cluster.exec('login', 'bob', 'squeue', '--me', '-h', '-t', 'R')) !== '',
  );
  await workbench.command('Scratchflow: Allocate Compute Node');
  await workbench.choice('Any free node').click();
  const toast = workbench.toast('waiting in the queue');
  await toast.waitFor();
  await workbench.statusSays('waiting for a node');
  await until('the job is in the queue', async () => (await cluster.jobs('alice')).length === 1);
  const pressedMs = Date.now();
  await workbench.press(toast, 'Cancel');
  await until('the job is gone', async () => (await cluster.jobs('alice')).length === 0);
  const tookMs = Date.now() - pressedMs;
  console.log(`withdrawn ${tookMs} ms after Cancel`);
  // Seconds: on a busy machine they are more than the five that it takes on a quiet one.
  expect(tookMs).toBeLessThan(60_000);
  await workbench.statusSays('no node');
  await cluster.exec('login', 'bob', 'scancel', '--user=bob');
});

test('Allocate: the node is in the status bar, and ssh leads to it', async () => {
  await workbench.command('Scratchflow: Allocate Compute Node');
  await workbench.choice(/node-2.*2\/2 a100.*CPUs free/).waitFor();
  await workbench.choice(/node-3.*2\/2 l4.*CPUs free/).waitFor();
  // Somebody else's job is gone since the side bar was drawn: it must not say less than the list.
  await workbench.row(/node-2.*CPUs free/).waitFor();
  await workbench.page.keyboard.type('2');
  await workbench.choice('Use 2').click();
  await workbench.toast('node-2 is yours').waitFor({ timeout: 90_000 });
  await workbench.statusSays(/node-2 · 2 h 5\d min left · no backup yet/);
  expect((await cluster.jobs('alice')).length).toBe(1);
  await workbench.clearToasts();
});

test('Create Workspace, then Run Backup: the snapshot is in the side bar', async () => {
  await workbench.command('Scratchflow: Create Workspace');
  await workbench.toast(`The workspace is ${WORK}`).waitFor({ timeout: 60_000 });
  await onNode(
    'node-2',
    `mkdir ${WORK}/src && echo 'print(1)' > ${WORK}/src/main.py && head -c 3000000 /dev/urandom > ${WORK}/data.bin`,
  );
  await workbench.command('Scratchflow: Run Backup');
  await workbench.toast('Backed up: 2 files').waitFor({ timeout: 60_000 });
  await workbench.openSideBar();
  await workbench.row(/2\.9 MiB · node-2/).waitFor();
  await workbench.statusSays(/node-2 · .* · backup just now/);
  await workbench.clearToasts();
});

test('auto-backup came on by itself with the workspace', async () => {
  await workbench.row(/^Auto-backup.*next \d\d:\d\d, every 30 min/).waitFor();
});

test('Initialize Scratch Space brings everything back', async () => {
  await onNode('node-2', `rm -rf ${WORK}`);
  await workbench.command('Scratchflow: Initialize Scratch Space');
  await workbench.toast('The scratch space is ready').waitFor({ timeout: 60_000 });
  expect(await onNode('node-2', `cat ${WORK}/src/main.py`)).toBe('print(1)\n');
  await workbench.clearToasts();
});

test('a snapshot opens down to its files; verify reads it back', async () => {
  await onNode('node-2', `echo 'print(2)' > ${WORK}/src/main.py`);
  await workbench.command('Scratchflow: Run Backup');
  await workbench.toast('Backed up: 1 file').waitFor({ timeout: 60_000 });
  await workbench.clearToasts();
  const newest = workbench.row(/\+.* · node-2/);
  await newest.waitFor();
  const good = workbench.toast('the snapshot is good');
  await workbench.pressOn(newest, 'Verify This Snapshot', good);
  await workbench.clearToasts();
  await workbench.openRow(newest);
  await workbench.openRow(workbench.row(/^work$/));
  await workbench.openRow(workbench.row(/^src$/));
  await workbench.row('main.py').waitFor();
});

test('Attach Tmux shows the session that holds the node, in a terminal', async () => {
  const tmux = (...argv: string[]) =>
    cluster.exec('login', 'alice', 'tmux', '-L', 'scratchflow', ...argv);
  await workbench.command('Scratchflow: Attach Tmux');
  // A shell on the node, and tmux's own line with the window that it is in.
  const shown = workbench.terminal
    .filter({ hasText: 'alice@node-2' })
    .filter({ hasText: '0:node*' });
  await shown.waitFor({ timeout: 60_000 });
  const sessions = (await tmux('list-clients', '-F', '#{session_name}')).trim().split('\n');
  expect(sessions).toHaveLength(1);
  // The workbench has something to say about its keys in a terminal.
  await workbench.clearToasts();
  await tmux('detach-client', '-s', `=${sessions[0]}`);
  await workbench.terminal.waitFor({ state: 'detached' });
  expect((await cluster.jobs('alice')).length).toBe(1);
});

test('Run Doctor looks everything over, from the settings to the workspace', async () => {
  await workbench.command('Scratchflow: Run Doctor');
  await workbench.quickInput.getByText('All is well').waitFor({ timeout: 60_000 });
  await workbench.choice(/allocation.*node-2/).waitFor();
  await workbench.choice(/workspace.*from snapshot/).waitFor();
  await workbench.page.keyboard.press('Escape');
});

test('the dashboard shows snapshots, nodes and the time left', async () => {
  await workbench.command('Scratchflow: Show Status');
  const { dashboard } = workbench;
  await dashboard.getByText(/h .*left, until/).waitFor();
  await dashboard.getByText(/\d snapshots, 2\.9 MiB in all/).waitFor();
  await dashboard.getByText(/of 3 nodes with something free/).waitFor();
  expect(await dashboard.locator('rect.mark').count()).toBeGreaterThanOrEqual(3);
});

test('the dashboard can be read in every theme, also in high contrast', async () => {
  for (const theme of ['hc', 'hc-light', 'dark', 'light'] as const) {
    await workbench.useTheme(theme);
    expect(await workbench.dashboard.locator('body').evaluate(hardToRead), theme).toEqual([]);
  }
});

test('the status bar leads to a menu', async () => {
  await workbench.status.click();
  await workbench.choice('Run Backup').waitFor();
  await workbench.page.keyboard.press('Escape');
});

test('Move to Another Node brings the workspace along', async () => {
  await workbench.command('Scratchflow: Move to Another Node');
  await workbench.choice(/^node-1/).click();
  await workbench.dialog.getByText('Move from node-2 to node-1?').waitFor();
  await workbench.dialog.getByRole('button', { name: 'Move' }).click();
  await workbench.toast('You are on node-1 now').waitFor({ timeout: 90_000 });
  await workbench.statusSays('node-1');
  expect(await onNode('node-1', `cat ${WORK}/src/main.py`)).toBe('print(2)\n');
  await workbench.clearToasts();
});

test('Clear Tmux: a last backup, the node goes back, the alias is parked', async () => {
  await onNode('node-1', `echo last > ${WORK}/last.txt`);
  await workbench.command('Scratchflow: Clear Tmux');
  await workbench.dialog.getByText('Give node-1 back?').waitFor();
  await workbench.dialog.getByRole('button', { name: 'Back Up and Clear' }).click();
  await workbench.toast('The node is released').waitFor({ timeout: 90_000 });
  await workbench.statusSays('no node');
  await workbench.row(/node-1.*4\/4 CPUs free/).waitFor();
  expect(await cluster.jobs('alice')).toEqual([]);
  const alias = readFileSync(join(server.home, '.ssh/scratchflow.d/compile_machine.conf'), 'utf8');
  expect(alias).toContain('there is no allocation');
});

test('Start Working does all of it in one go', async () => {
  await workbench.clearToasts();
  await workbench.command('Scratchflow: Start Working');
  await workbench.toast('All is ready on').waitFor({ timeout: 90_000 });
  await workbench.statusSays(/node-\d · 2 h 5\d min left · backup/);
  const node = /node-\d/.exec(await workbench.status.innerText())?.[0] ?? '';
  expect(await onNode(node, `cat ${WORK}/last.txt`)).toBe('last\n');
});

test('Show Jobs, while there are none, says what `submit` does', async () => {
  await workbench.clearToasts();
  await workbench.command('View: Close All Editors');
  await workbench.command('Scratchflow: Show Jobs');
  await workbench.sideBar.getByText('No jobs yet').waitFor();
});

test('a job that was submitted in a terminal appears, and its log is followed to its end', async () => {
  const go = '/fsx/alice/go';
  const script = `echo hello; until [ -e ${go} ]; do sleep 0.2; done; exit 3`;
  await laptop.typed('submit', '--name', 'greeting', '--', 'sh', '-c', script);
  const pane = workbench.pane('Jobs');
  await pane.hover();
  await pane.getByRole('button', { name: 'Refresh' }).click();
  const row = workbench.row(/greeting.*\d+ · (PENDING|RUNNING|CONFIGURING)/);
  await row.waitFor({ timeout: 60_000 });
  const printed = workbench.terminal.filter({ hasText: 'hello' });
  await workbench.pressOn(row, 'Follow Log', printed);
  await cluster.exec('login', 'alice', 'touch', go);
  await printed.filter({ hasText: 'exit code 3' }).waitFor({ timeout: 90_000 });
  // The end of the log has the view asked for again.
  await workbench.row(/greeting.*\d+ · FAILED/).waitFor({ timeout: 60_000 });
});

test('a click shows the job, to read', async () => {
  await workbench.openRow(workbench.row(/greeting.*FAILED/));
  await workbench.page.locator('.view-line', { hasText: 'FAILED' }).first().waitFor();
});
