// A login host that asks for a one-time code, by PAM, as many sites do: from the palette to a window that is connected.

import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, beforeEach, onTestFailed, test } from 'vitest';
import { Cluster } from './cluster';
import { openOnCluster } from './onCluster';
import { Server } from './server';
import { Undo } from './undo';
import type { Workbench } from './workbench';

const CLI = join(process.env.SCRATCHFLOW_VENV ?? resolve('../.venv'), 'bin/scratchflow');
const SETTINGS = {
  'scratchflow.cliPath': CLI,
  // Draws a terminal's text as text, which can be read here.
  'terminal.integrated.gpuAcceleration': 'off',
};
const server = new Server();
const cluster = new Cluster();
const undo = new Undo();
let workbench: Workbench;

beforeAll(async () => {
  const like = { MC_SECOND_FACTOR: '1', MC_NODES: '1' };
  workbench = await openOnCluster({ cluster, server, undo }, { settings: SETTINGS, like });
});

afterAll(() => undo.all());

beforeEach(({ task }) => {
  onTestFailed(() => workbench.failure(task.name));
});

/** Types the next code into the terminal that asks for it. */
async function typeCode(): Promise<void> {
  await workbench.terminal.getByText('One-time password').waitFor({ timeout: 60_000 });
  await workbench.page.keyboard.type(await cluster.code());
  await workbench.page.keyboard.press('Enter');
}

/** As after a night: the connection that was logged in is gone. */
function endConnection(): void {
  const directory = join(server.root, 'tmp/scratchflow');
  const socket = readdirSync(directory).find((name) => !name.endsWith('.asked')) ?? '';
  const options = ['-o', `ControlPath=${join(directory, socket)}`, '-O', 'exit'];
  execFileSync('ssh', [...options, 'login'], { stdio: 'pipe' });
}

async function answer(title: string, text: string): Promise<void> {
  await workbench.quickInput.getByText(title).waitFor();
  await workbench.page.keyboard.press('Control+a');
  await workbench.page.keyboard.type(text);
  await workbench.page.keyboard.press('Enter');
}

test('Set Up Cluster asks for the code in a terminal, and goes on', async () => {
  await workbench.command('Scratchflow: Set Up Cluster');
  await answer('(1 of 3)', 'login');
  await answer('(2 of 3)', '/fsx/$USER/store');
  await answer('(3 of 3)', 'debug');
  await typeCode();
  await workbench.quickInput.getByText('Set up login as profile').waitFor({ timeout: 60_000 });
  await workbench.choice('Set Up').click();
  await workbench.toast('login is ready to use').waitFor({ timeout: 120_000 });
  await workbench.statusSays('no node');
});

test('Log In asks for the next one, and the command that was interrupted is offered again', async () => {
  endConnection();
  await workbench.clearToasts();
  await workbench.command('Scratchflow: Run Backup');
  const refused = workbench.toast('log in');
  await refused.waitFor({ timeout: 60_000 });
  await workbench.press(refused, 'Log In');
  await typeCode();
  const done = workbench.toast('You are logged in');
  await done.waitFor({ timeout: 60_000 });
  await workbench.statusSays('no node');
  await workbench.press(done, 'Try Again');
  await workbench.toast('there is no allocation').waitFor({ timeout: 60_000 });
});
