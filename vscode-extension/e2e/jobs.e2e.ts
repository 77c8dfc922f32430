// Jobs that were submitted in a terminal, as the view Jobs shows them: real CLI, real Slurm cluster.

import { afterAll, beforeAll, beforeEach, onTestFailed, test } from 'vitest';
import { Cluster } from './cluster';
import { CLI, Laptop } from './laptop';
import { openOnCluster } from './onCluster';
import { Server } from './server';
import { Undo } from './undo';
import type { Workbench } from './workbench';

const SETTINGS = {
  'scratchflow.cliPath': CLI,
  // Draws a terminal's text as text, which can be read here.
  'terminal.integrated.gpuAcceleration': 'off',
};
const server = new Server();
const laptop = new Laptop(server.home);
const cluster = new Cluster();
const undo = new Undo();
let workbench: Workbench;

async function before(): Promise<void> {
  const answers = ['login', '--store', '/fsx/$USER/store', '--partition', 'dev'];
  await laptop.typed('setup', ...answers, '--yes');
  await laptop.typed('up', '--time', '1h');
}

beforeAll(async () => {
  workbench = await openOnCluster({ cluster, server, undo }, { settings: SETTINGS, before });
});

afterAll(() => undo.all());

beforeEach(({ task }) => {
  onTestFailed(() => workbench.failure(task.name));
});

test('an empty view says what `submit` does', async () => {
  await workbench.statusSays(/node-\d/);
  await workbench.command('Scratchflow: Show Jobs');
  await workbench.sideBar.getByText('No jobs yet').waitFor();
});

test('a job that was submitted in a terminal appears, and its log is followed to its end', async () => {
  await laptop.typed(
    'submit',
    '--name',
    'greeting',
    '--',
    'sh',
    '-c',
    'echo hello; sleep 15; exit 3',
  );
  await workbench.command('Scratchflow: Show Jobs');
  await workbench.pane('Jobs').hover();
  await workbench.pane('Jobs').getByRole('button', { name: 'Refresh' }).click();
  const row = workbench.row(/greeting.*\d+ · (PENDING|RUNNING|CONFIGURING)/);
  await row.waitFor({ timeout: 60_000 });
  const printed = workbench.terminal.filter({ hasText: 'hello' });
  await workbench.pressOn(row, 'Follow Log', printed);
  await printed.filter({ hasText: 'exit code 3' }).waitFor({ timeout: 90_000 });
  // The end of the log has the view asked for again.
  await workbench.row(/greeting.*\d+ · FAILED/).waitFor({ timeout: 60_000 });
});

test('a click shows the job, to read', async () => {
  await workbench.openRow(workbench.row(/greeting.*FAILED/));
  await workbench.page.locator('.view-line', { hasText: 'FAILED' }).first().waitFor();
});
