import { expect, test } from 'vitest';
import { AliasWindow } from '../../src/flows/aliasWindow';
import type { StatusShown } from '../../src/cli/protocol';
import { NO_NODE, seeing, WITH_NODE } from '../pictures';
import { lab } from './lab';

const on = (target: string): StatusShown => ({
  ...WITH_NODE,
  alias: { name: 'compile_machine', target, parked: false },
});
const RELOAD = 'command: workbench.action.reloadWindow';

async function looking(answers: Record<string, string>, pictures: StatusShown[], given = {}) {
  const { context, editor } = lab({}, answers);
  Object.assign(editor, given);
  const view = new AliasWindow(context);
  for (const status of pictures) await view.look(seeing(status));
  return editor.seen;
}

test('a window on the alias reloads when the alias leads to another node', async () => {
  expect(await looking({}, [on('node-1'), on('node-1'), on('node-2')])).toEqual([RELOAD]);
});

test('a window that was restored while the alias was parked offers Start Working, then reloads', async () => {
  const answers = { 'This window is on compile_machine': 'Start Working' };
  expect(await looking(answers, [NO_NODE, NO_NODE, on('node-2')])).toEqual([
    'warning: This window is on compile_machine, which leads to no node now. | Start Working',
    'command: scratchflow.up',
    RELOAD,
  ]);
});

test('files that are not saved are not reloaded away unasked', async () => {
  const unsaved = { notSaved: [{ host: undefined, path: '/notes.md' }] };
  const moved = [on('node-1'), on('node-2')];
  expect(await looking({}, moved, unsaved)).toHaveLength(1);
  const yes = { 'The workspace is on node-2 now': 'Reload Window' };
  expect((await looking(yes, moved, unsaved)).at(-1)).toBe(RELOAD);
});

test('other windows are left alone', async () => {
  expect(await looking({}, [NO_NODE, on('node-1'), on('node-2')], { connected: false })).toEqual(
    [],
  );
});

test('a command of this window is not ended by a reload: that comes after it', async () => {
  const { context, editor } = lab({ up: { steps: [{ hello: true }, { hang: true }] } });
  const view = new AliasWindow(context);
  await view.look(seeing(on('node-1')));
  const abort = new AbortController();
  const onEvent = async () => {
    await view.look(seeing(on('node-2')));
    expect(editor.seen).toEqual([]);
    abort.abort();
  };
  await expect(
    context.cli.run('up', { signal: abort.signal, onEvent: () => void onEvent() }),
  ).rejects.toThrow();
  await view.look(seeing(on('node-2')));
  expect(editor.seen).toEqual([RELOAD]);
});
