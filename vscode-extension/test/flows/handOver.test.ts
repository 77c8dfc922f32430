import { expect, test, vi } from 'vitest';
import { takeOver } from '../../src/flows/handOver';
import { openWorkspace } from '../../src/flows/open';
import { answering } from '../fakeCli';
import { lab } from './lab';

const PATH = '/home/alice/scratch/work';
const opened = { path: PATH, command: [], link: '', opened: false, host: null, exists: true };
const PLAY = { open: answering(opened) };

/** A window on the workspace, after another one with that profile opened it. */
async function windowOpenedFrom(profile: string | undefined) {
  const first = lab(PLAY);
  await first.editor.rememberHere('profile', profile);
  await openWorkspace(first.context);
  const second = lab({});
  // What all windows share.
  for (const [key, value] of first.editor.memory)
    if (!key.startsWith('here ')) second.editor.memory.set(key, value);
  second.editor.opened = [{ host: undefined, path: PATH }];
  return second;
}

test('the window that Open Workspace opens has the profile that it was opened for', async () => {
  const { context, editor } = await windowOpenedFrom('local');
  const taken = takeOver(context);
  // At once: the first command line of the window has it.
  expect(editor.recallHere('profile')).toBe('local');
  await taken;
  expect(editor.seen).toEqual(['here: profile = "local"', 'reconnect']);
  // Once: a profile that the user chooses later stays.
  await editor.rememberHere('profile', 'aws');
  await takeOver(context);
  expect(editor.recallHere('profile')).toBe('aws');
});

test('opened from a window with the profile of all, it has that one, too', async () => {
  const { context, editor } = await windowOpenedFrom(undefined);
  await editor.rememberHere('profile', 'local');
  await takeOver(context);
  expect(editor.recallHere('profile')).toBeUndefined();
});

test('a window of another folder, and one that opens much later, keep what they have', async () => {
  const other = await windowOpenedFrom('local');
  other.editor.opened = [{ host: 'compile_machine', path: PATH }];
  await takeOver(other.context);
  expect(other.editor.seen).toEqual([]);
  const late = await windowOpenedFrom('local');
  const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 3_600_000);
  await takeOver(late.context);
  clock.mockRestore();
  expect(late.editor.seen).toEqual([]);
});

test('a window that opens its own folder leaves nothing for itself', async () => {
  const { context, editor } = lab(PLAY);
  editor.opened = [{ host: undefined, path: PATH }];
  await openWorkspace(context);
  expect([...editor.memory.keys()].filter((key) => key.startsWith('profile'))).toEqual([]);
});
