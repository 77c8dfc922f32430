import { expect, test } from 'vitest';
import { guarded } from '../../src/flows/context';
import { openWorkspace } from '../../src/flows/open';
import { answering, failure } from '../fakeCli';
import { WITH_NODE } from '../pictures';
import { lab } from './lab';

const there = (given: Record<string, unknown> = {}) => ({
  open: answering({
    ...{ path: '/scratch/alice/work', command: [], link: '', opened: false },
    ...{ host: 'compile_machine', exists: true, ...given },
  }),
});

test('Open Workspace asks the CLI, goes over the alias, and stays here without one', async () => {
  const remote = lab(there(), {}, WITH_NODE);
  await openWorkspace(remote.context);
  expect(remote.argvs()).toEqual(['open --print']);
  expect(remote.editor.seen.at(-1)).toBe('folder: compile_machine:/scratch/alice/work');
  const local = lab(there({ host: null }));
  await openWorkspace(local.context);
  expect(local.editor.seen.at(-1)).toBe('folder: /scratch/alice/work');
});

test('a folder of which nobody knows whether it is there is not opened unasked', async () => {
  const unknown = lab(there({ exists: null }), { 'It is not known': 'Start Working' }, WITH_NODE);
  await openWorkspace(unknown.context);
  expect(unknown.editor.seen.at(-1)).toBe('command: scratchflow.up');
  const anyway = lab(there({ exists: null }), { 'It is not known': 'Open Anyway' }, WITH_NODE);
  await openWorkspace(anyway.context);
  expect(anyway.editor.seen.at(-1)).toBe('folder: compile_machine:/scratch/alice/work');
});

test('what stands in the way comes from the CLI, with a button for what mends it', async () => {
  const error = failure('allocation.missing', 'there is none', '`scratchflow up` takes a node');
  const play = { open: { steps: [{ hello: true }, error] } };
  const { context, editor } = lab(play, { 'There is none': 'Start Working' }, WITH_NODE);
  await guarded(context, openWorkspace)();
  expect(editor.seen.at(-1)).toBe('command: scratchflow.up');
});

test('without Remote-SSH it says so', async () => {
  const bare = lab(there(), { 'Opening the workspace needs': 'Find Remote-SSH' }, WITH_NODE);
  bare.editor.remoteSsh = false;
  await openWorkspace(bare.context);
  expect(bare.editor.seen.at(-1)).toBe(
    'command: workbench.extensions.search ms-vscode-remote.remote-ssh',
  );
});
