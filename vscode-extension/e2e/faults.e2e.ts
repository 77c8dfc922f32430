// A CLI that is missing, too old, crashing or printing garbage, and folders that mean harm: in a real workbench each
// gives a clear message, and the window stays usable. For one that hangs, see test/cli/cli.test.ts: it is waited for.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from 'vitest';
import { layOut, type Step } from '../test/fakeCli';
import { NO_NODE } from '../test/pictures';
import { Server } from './server';
import { Undo } from './undo';
import { until } from './until';
import { Workbench } from './workbench';

const server = new Server();
const fakes = join(server.root, 'fakes');
const canary = join(server.root, 'canary-ran');
const undo = new Undo();
let workbench: Workbench;

const trust = {
  'security.workspace.trust.enabled': true,
  'security.workspace.trust.startupPrompt': 'never',
};

beforeAll(async () => {
  mkdirSync(fakes, { recursive: true });
  undo.later(() => server.stop());
  await server.start({ settings: { 'scratchflow.cliPath': '/nowhere/scratchflow' } });
  workbench = await Workbench.open(server);
  undo.later(() => workbench.close());
});

afterAll(() => undo.all());

function watched(name: string): void {
  onTestFailed(() => workbench.failure(name));
}

/** Loads the window anew with a CLI that answers everything with these steps. */
async function withCli(name: string, steps: Step[], settings = {}): Promise<void> {
  const directory = join(fakes, name);
  mkdirSync(directory, { recursive: true });
  const play = Object.fromEntries(['status', 'backup', 'config'].map((op) => [op, { steps }]));
  const { file } = layOut(directory, play);
  server.writeSettings({ 'scratchflow.cliPath': file, ...settings });
  await workbench.load();
}

async function stillWorks(): Promise<void> {
  await workbench.clearToasts();
  await workbench.status.click();
  await workbench.choice('Show Log').waitFor();
  await workbench.page.keyboard.press('Escape');
}

/** What the extension host complained about. */
function complaints(): string[] {
  const logs = join(server.root, 'data/logs');
  const files = readdirSync(logs, { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => file.endsWith('remoteexthost.log'))
    .flatMap((file) => readFileSync(join(logs, file), 'utf8').split('\n'))
    .filter((line) => /unhandled|rejected promise/i.test(line) && /scratchflow/i.test(line));
}

describe('the command line is', () => {
  test('missing: the status bar and a message say so, and offer to install it', async () => {
    watched('missing');
    await workbench.statusSays('scratchflow: install');
    await workbench.command('Scratchflow: Run Backup');
    const toast = workbench.toast('there is no program there');
    await toast.waitFor();
    await toast.getByRole('button', { name: 'Install scratchflow' }).waitFor();
    await stillWorks();
  });

  test.each<[string, Step[], RegExp]>([
    ['too old', [{ hello: { version: '0.0.1' } }], /0\.0\.1 is too old/],
    [
      'crashing',
      [{ hello: true }, { stderr: 'Traceback\n' }, { exit: 1 }],
      /ended without a result/,
    ],
    ['printing garbage', [{ raw: '<html>\n' }, { hang: true }], /is not scratchflow/],
  ])('%s: a message says so', async (name, steps, message) => {
    watched(name);
    await withCli(name, steps);
    await workbench.command('Scratchflow: Run Backup');
    await workbench.toast(message).waitFor();
    await workbench.statusSays(/scratchflow: (install|not connected)/);
    await stillWorks();
  });

  test('never a reason for an unhandled rejection', () => {
    expect(complaints()).toEqual([]);
  });
});

describe('a hostile folder', () => {
  beforeAll(() => {
    const script = join(server.root, 'canary');
    writeFileSync(script, `#!/bin/sh\ntouch ${canary}\n`);
    chmodSync(script, 0o755);
    const settings = { 'scratchflow.cliPath': script, 'scratchflow.profile': 'evil' };
    server.writeFiles({
      '.vscode/settings.json': JSON.stringify(settings),
      scratchflow: readFileSync(script, 'utf8'),
    });
    chmodSync(join(server.folder, 'scratchflow'), 0o755);
  });

  test.each([
    ['untrusted', trust],
    ['trusted', { 'security.workspace.trust.enabled': false }],
  ])('%s: its cliPath is never run', async (name, settings) => {
    watched(name);
    const steps = [{ hello: true }, { line: { type: 'status', data: NO_NODE } }, { hang: true }];
    await withCli(name, steps, settings);
    await workbench.statusSays('no node');
    const calls = () => readFileSync(join(fakes, name, 'calls.jsonl'), 'utf8');
    // One line, one call: nothing but the watch runs until somebody asks for more.
    expect(calls().trim().split('\n')).toHaveLength(1);
    expect(calls()).toContain('"argv":["status","--watch","--json"]');
    await workbench.command('Scratchflow: Run Backup');
    await workbench.toast('Backing up').waitFor();
    await until('the backup has begun', () => calls().includes('"backup"'));
    expect(calls()).not.toContain('evil');
    expect(existsSync(canary)).toBe(false);
  });
});
