// The pictures of the documentation: a cluster with two types of GPUs, a week of snapshots, jobs and a web server.
// Only with SCRATCHFLOW_IMAGES=1: what is shown here is tested elsewhere.

import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, onTestFailed, test } from 'vitest';
import { Cluster } from './cluster';
import { hardToRead } from './contrast';
import { clockOf, shellOf, WEEK } from './project';
import { Server } from './server';
import { Undo } from './undo';
import { until } from './until';
import { Workbench, WRITES_IMAGES } from './workbench';

const CLI = join(process.env.SCRATCHFLOW_VENV ?? resolve('../.venv'), 'bin/scratchflow');
const NODE = 'node-2';
const WORK = '/scratch/alice/work';
const SETTINGS = {
  'scratchflow.cliPath': CLI,
  'terminal.integrated.gpuAcceleration': 'off',
};
const run = promisify(execFile);
const server = new Server();
const cluster = new Cluster();
const undo = new Undo();
let workbench: Workbench;

/** What a user would type in a terminal. */
async function typed(...argv: string[]): Promise<string> {
  const env = { PATH: process.env.PATH, HOME: server.home, LANG: 'C.UTF-8' };
  return (await run(CLI, argv, { env, cwd: server.home })).stdout;
}

/** The week before: saved on the node itself, by the agent that `setup` put into the home, with its clock set back. */
async function spendTheWeek(): Promise<void> {
  const config = '/home/alice/week.toml';
  const agent = '/home/alice/.local/share/scratchflow/agent/current/start';
  const profile = `[profiles.week]\nscheduler = "none"\nscratch = "/scratch/alice"\nstore = "/fsx/alice/store"\n`;
  const onNode = (...argv: string[]) => cluster.exec(NODE, 'alice', ...argv);
  const at = (when: string, ...argv: string[]) =>
    onNode(...clockOf(when), 'sh', agent, '--config', config, '-p', 'week', ...argv);
  await onNode('sh', '-c', `printf '%s' '${profile}' > ${config}`);
  await at('6 10:12', 'create');
  for (const state of WEEK) {
    await onNode('sh', '-c', `cd ${WORK} && ${shellOf(state)}`);
    await at(state.when, 'backup', ...(state.message ? ['-m', state.message] : []));
  }
}

/** Jobs of this morning: an experiment that runs, one that has ended well and one that has not. */
async function submitJobs(): Promise<void> {
  const submit = (...argv: string[]) => typed('submit', '--time', '2h', ...argv);
  const steps =
    'for i in $(seq 0 400); do echo "epoch $i: loss 0.$((7300 - i * 17))"; sleep 4; done';
  await submit('--name', 'evaluate', '--', 'sh', '-c', 'echo mean IoU 0.912');
  await submit('--name', 'export', '--', 'sh', '-c', 'echo no such layer: up5 >&2; exit 3');
  await submit('--name', 'segment', '--gpus', 'l4:1', '--', 'sh', '-c', steps);
  const grid = ['--grid', 'lr=0.01,0.003,0.001'];
  await submit('--name', 'learning rates', ...grid, '--', 'sh', '-c', `echo lr {lr}; ${steps}`);
}

describe.runIf(WRITES_IMAGES)('pictures', () => {
  beforeAll(async () => {
    undo.later(() => cluster.stop());
    await cluster.start({ MC_NODES: '5', MC_GPU_TYPES: 'a100 l4' });
    undo.later(() => server.stop());
    const files = Object.assign({}, ...WEEK.map((state) => state.files)) as Record<string, string>;
    await server.start({ settings: SETTINGS, files });
    cluster.introduceTo(server.home);
    await typed('setup', 'login', '--store', '/fsx/$USER/store', '--partition', 'dev', '--yes');
    await spendTheWeek();
    workbench = await Workbench.open(server);
    undo.later(() => workbench.close());
    await workbench.page.setViewportSize({ width: 1400, height: 960 });
    await workbench.statusSays('no node');
    await workbench.openFile(join(server.folder, 'src/train.py'));
    await workbench.command('Scratchflow: Show Nodes');
    await workbench.widenSideBar(90);
    await until('all nodes are there', async () => {
      const states = await cluster.exec('login', 'alice', 'sinfo', '-hN', '-p', 'dev', '-o', '%t');
      return states
        .trim()
        .split('\n')
        .every((state) => state === 'idle');
    });
  }, 600_000);

  afterAll(() => undo.all());

  beforeEach(({ task }) => {
    onTestFailed(() => workbench.failure(`pictures ${task.name}`));
  });

  test('a node is picked', async () => {
    for (const theme of workbench.themes) {
      await workbench.page.keyboard.press('Escape');
      await workbench.useTheme(theme);
      await workbench.command('Scratchflow: Allocate Compute Node');
      await workbench.choice(/2\/2 a100/).waitFor();
      await workbench.choice(/2\/2 l4/).waitFor();
      await workbench.row(/2\/2 l4/).waitFor();
      await workbench.picture(`allocate-${theme}`);
      if (theme === 'dark') await workbench.shippedPicture('allocate', workbench.quickInput);
    }
    await workbench.page.keyboard.press('Escape');
  });

  test('the queue', async () => {
    const all = ['--nodes=5', '--exclusive', '--partition=debug', '--wrap=sleep 300'];
    await cluster.exec('login', 'bob', 'sbatch', ...all);
    await until(
      'bob has all nodes',
      async () => (await cluster.exec('login', 'bob', 'squeue', '--me', '-h', '-t', 'R')) !== '',
    );
    await workbench.command('Scratchflow: Allocate Compute Node');
    await workbench.choice('Any free node').click();
    const toast = workbench.toast('waiting in the queue');
    await toast.waitFor();
    await workbench.row(/^Withdraw/).waitFor();
    await workbench.pictures('waiting');
    await workbench.press(toast, 'Cancel');
    await workbench.statusSays('no node');
    await cluster.exec('login', 'bob', 'scancel', '--user=bob');
  });

  test('a day at work', async () => {
    await typed('up', '--node', NODE, '--time', '8h', '--gpus', 'a100:1');
    await typed('serve', '--name', 'results', '--', 'python3', '-m', 'http.server', '{port}');
    await submitJobs();
    await workbench.statusSays(/node-2 · 7 h 5\d min left/);
    await workbench.clearToasts();
    await workbench.row(/results/).waitFor();
    await workbench.fold('Nodes');
    await workbench.command('Scratchflow: Show Jobs');
    await workbench.row(/export.*FAILED/).waitFor({ timeout: 60_000 });
    await workbench.row(/segment.*RUNNING/).waitFor({ timeout: 60_000 });
  });

  test('what changed, beside the side bar', async () => {
    const older = workbench.row('baseline');
    await workbench.pane('Snapshots').hover();
    await workbench.page.mouse.wheel(0, 400);
    const changed = workbench.choice('~ work/src/train.py');
    await workbench.pressOn(older, 'Show What Changed', changed);
    await changed.click();
    await workbench.page
      .locator('.monaco-diff-editor .editor.modified .view-line', { hasText: 'levels=5' })
      .waitFor();
    await workbench.pane('Snapshots').hover();
    await workbench.page.mouse.wheel(0, -400);
    await workbench.openRow(workbench.row('submitted version'));
    await workbench.openRow(workbench.row(/^work$/));
    await workbench.openRow(workbench.row(/^src$/));
    await workbench.row(/^model\.py/).waitFor();
    await workbench.pictures('work');
    await workbench.useTheme('dark');
    await workbench.shippedPicture('work');
    await workbench.shippedPicture('snapshots', workbench.pane('Snapshots'));
    await workbench.command('View: Close Editor');
  });

  test('the log of a job', async () => {
    await workbench.openRow(workbench.row('submitted version'));
    await workbench.fold('Services');
    await workbench.fold('In Use');
    await workbench.row(/^Scratch/).waitFor({ timeout: 60_000 });
    const printed = workbench.terminal.filter({ hasText: /epoch \d/ });
    await workbench.pressOn(workbench.row(/segment.*RUNNING/), 'Follow Log', printed);
    await workbench.openRow(workbench.row(/learning-rates/));
    await workbench.clearToasts();
    await workbench.pictures('jobs');
    await workbench.command('View: Hide Panel');
  });

  test('the session that holds the node', async () => {
    await workbench.command('Scratchflow: Attach Tmux');
    await workbench.terminal.filter({ hasText: 'alice@node-2' }).waitFor({ timeout: 60_000 });
    await workbench.page.keyboard.type('cd /scratch/alice/work; ls -l src; nproc\n');
    await workbench.terminal.filter({ hasText: 'train.py' }).waitFor();
    await workbench.clearToasts();
    await workbench.pictures('attach');
    await workbench.command('View: Hide Panel');
  });

  test('the dashboard', async () => {
    await workbench.command('Scratchflow: Show Status');
    const { dashboard } = workbench;
    await dashboard.getByText(/h .*left, until/).waitFor();
    await dashboard.getByText('results').first().waitFor();
    // What it says, the side bar says too.
    await workbench.command('View: Toggle Primary Side Bar Visibility');
    for (const theme of workbench.themes) {
      await workbench.useTheme(theme);
      const poor = await dashboard.locator('body').evaluate(hardToRead);
      if (poor.length > 0) throw new Error(`${theme}: ${poor.join('; ')}`);
      await workbench.picture(`overview-${theme}`);
      if (theme === 'dark')
        await workbench.shippedPicture('overview', workbench.page.locator('.part.editor'));
    }
  });

  test('the menu of the status bar', async () => {
    for (const theme of workbench.themes) {
      await workbench.useTheme(theme);
      await workbench.status.click();
      await workbench.choice('Run Backup').waitFor();
      await workbench.picture(`menu-${theme}`);
      await workbench.page.keyboard.press('Escape');
    }
  });

  test('the walkthrough', async () => {
    await workbench.command('View: Close All Editors');
    await workbench.command('Welcome: Open Walkthrough');
    await workbench.choice('Your first hour with scratchflow').click();
    await workbench.tick('setup', true).waitFor();
    await workbench.page.getByText('Save what you did').first().click();
    // Its page is a webview, as the dashboard is.
    await workbench.dashboard.locator('img').waitFor();
    await workbench.pictures('walkthrough');
  });
});
