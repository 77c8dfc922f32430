import { expect, test } from 'vitest';
import { openWorkspace } from '../../src/flows/open';
import { NO_NODE, WITH_NODE } from '../pictures';
import { lab } from './lab';

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
