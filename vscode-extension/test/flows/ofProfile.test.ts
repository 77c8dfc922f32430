import { expect, test } from 'vitest';
import { guarded, type Context } from '../../src/flows/context';
import { Deadlines } from '../../src/flows/deadlines';
import { useHere } from '../../src/flows/profile';
import { NO_NODE, NOW, withLeft } from '../pictures';
import type { FakeEditor } from '../fakeEditor';
import { lab } from './lab';

const YES = { 'Run Backup in the profile aws?': true };

/** A window that has another profile by the time that somebody answers a message. */
function switchedWhileShown(context: Context, editor: FakeEditor, to: string | undefined): void {
  const { warn } = editor;
  editor.warn = async (message, ...buttons) => {
    const pressed = await warn(message, ...buttons);
    await useHere(context, to);
    return pressed;
  };
}

test('a button of the warning backs up the profile that the warning is about', async () => {
  const answers = { 'node-1 is yours': 'Run Backup', ...YES };
  const { context, editor } = lab({}, answers, withLeft(600));
  switchedWhileShown(context, editor, 'local');
  await new Deadlines(context).look(NOW);
  expect(editor.details).toEqual([
    'The message is about the profile aws, and this window has the profile local now. It is switched back first.',
  ]);
  expect(editor.seen.slice(-4)).toEqual([
    'confirm: Run Backup in the profile aws?',
    'here: profile = nothing',
    'reconnect',
    'command: scratchflow.backup',
  ]);
});

test('without a yes it does nothing, and the window keeps its profile', async () => {
  const { context, editor } = lab({}, { 'node-1 is yours': 'Run Backup' }, withLeft(600));
  switchedWhileShown(context, editor, 'local');
  await new Deadlines(context).look(NOW);
  expect(editor.seen.at(-1)).toBe('confirm: Run Backup in the profile aws?');
  expect(editor.recallHere('profile')).toBe('local');
});

test('the same profile by another way is no other one', async () => {
  const { context, editor } = lab({}, { 'node-1 is yours': 'Run Backup' }, withLeft(600));
  switchedWhileShown(context, editor, 'aws');
  await new Deadlines(context).look(NOW);
  expect(editor.seen.at(-1)).toBe('command: scratchflow.backup');
});

test('a command speaks of the profile that it began in, also when it ends after a switch', async () => {
  const { context, editor } = lab({}, { Done: 'Open', Failed: 'Show Log' }, withLeft(600));
  let pressed: string | undefined = 'not asked';
  await guarded(context, async (given) => {
    await useHere(context, 'local');
    expect(await given.editor.fail('Failed.', 'Show Log')).toBe('Show Log');
    pressed = await given.editor.inform('Done.', 'Open');
  })();
  expect(pressed).toBeUndefined();
  expect(editor.seen.at(-1)).toBe('confirm: Open in the profile aws?');
});

test('the first cluster that is set up is the profile of the window without a switch', async () => {
  const here = { ...NO_NODE, profile: 'local', alias: null };
  const { context, store } = lab({}, { Ready: 'Allocate' }, here);
  await guarded(context, async (given) => {
    store.dispatch({ type: 'status', data: NO_NODE, atMs: NOW });
    expect(await given.editor.inform('Ready.', 'Allocate')).toBe('Allocate');
  })();
});

test('a command that asked for the profile goes on with the answer', async () => {
  const { context, editor } = lab({}, { Done: 'Open' }, withLeft(600));
  await guarded(context, async (given) => {
    await useHere(given, 'azure');
    expect(await given.editor.inform('Done.', 'Open')).toBe('Open');
  })();
  expect(editor.seen.at(-1)).toBe('info: Done. | Open');
});
