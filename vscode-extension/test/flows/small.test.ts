import { expect, test } from 'vitest';
import { menu, namesFor } from '../../src/flows/menu';
import { openWorkspace } from '../../src/flows/open';
import { attach, doctor, openSettings } from '../../src/flows/small';
import { missing } from '../../src/problem';
import { next } from '../../src/state';
import { answering, playing } from '../fakeCli';
import { NO_NODE, seeing, WITH_NODE } from '../pictures';
import { lab } from './lab';

test('Open Settings opens the file, or leads to the set-up when there is none', async () => {
  const there = lab({ 'config path': answering({ path: '/c/config.toml', exists: true }) });
  await openSettings(there.context);
  expect(there.editor.seen).toEqual(['file: /c/config.toml']);
  const none = lab(
    { 'config path': playing('config-path') },
    { 'There are no settings': 'Set Up Cluster' },
  );
  await openSettings(none.context);
  expect(none.editor.seen.at(-1)).toBe('command: scratchflow.setup');
});

test('Attach Tmux runs the CLI in a terminal, with the profile', async () => {
  const { context, editor } = lab({});
  await attach(context);
  expect(editor.seen).toEqual(['terminal: scratchflow: tmux: attach --profile aws']);
});

test('Run Doctor puts what is wrong first and types the fix into a terminal', async () => {
  const checks = [
    { name: 'ssh', ok: true, detail: 'fine', fix: '' },
    { name: 'tmux', ok: false, detail: 'not there', fix: 'scratchflow attach' },
  ];
  const { context, editor } = lab({ doctor: answering({ checks }) }, { '1 of 2': '$(error) tmux' });
  await doctor(context);
  expect(editor.picked.map(({ label }) => label)).toEqual(['$(error) tmux', '$(pass) ssh']);
  expect(editor.seen.at(-1)).toBe('typed: scratchflow attach');
});

test('Open Workspace goes over the alias, and stays here without one', async () => {
  const remote = lab({}, {}, WITH_NODE);
  await openWorkspace(remote.context);
  expect(remote.editor.seen).toEqual(['folder: compile_machine:/scratch/alice/work']);
  const local = lab({}, {}, { ...WITH_NODE, alias: null });
  await openWorkspace(local.context);
  expect(local.editor.seen).toEqual(['folder: /scratch/alice/work']);
});

test('Open Workspace says what is missing', async () => {
  const parked = lab({}, { 'There is no node': 'Allocate Compute Node' }, NO_NODE);
  await openWorkspace(parked.context);
  expect(parked.editor.seen.at(-1)).toBe('command: scratchflow.allocate');
  const bare = lab({}, { 'Opening the workspace needs': 'Find Remote-SSH' }, WITH_NODE);
  bare.editor.remoteSsh = false;
  await openWorkspace(bare.context);
  expect(bare.editor.seen.at(-1)).toBe(
    'command: workbench.extensions.search ms-vscode-remote.remote-ssh',
  );
  const unknown = lab({});
  await openWorkspace(unknown.context);
  expect(unknown.editor.seen[0]).toContain('not known yet');
});

test('the menu offers what makes sense now', async () => {
  expect(namesFor(seeing(NO_NODE)).slice(0, 2)).toEqual(['up', 'allocate']);
  expect(namesFor(seeing(WITH_NODE))[0]).toBe('open');
  expect(namesFor(seeing(WITH_NODE))).not.toContain('allocate');
  expect(namesFor(seeing({ ...NO_NODE, alias: null }))[0]).toBe('backup');
  const link = { is: 'stopped', problem: missing() } as const;
  expect(namesFor(next(seeing(NO_NODE), { type: 'link', link }))).toEqual(['install', 'log']);
  const { context, editor } = lab({}, { scratchflow: '$(cloud-upload) Run Backup' }, WITH_NODE);
  await menu(context);
  expect(editor.seen.at(-1)).toBe('command: scratchflow.backup');
});
