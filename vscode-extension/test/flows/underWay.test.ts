import { expect, test } from 'vitest';
import { moment } from '../../src/format/words';
import { backup } from '../../src/flows/workspace';
import { UnderWay } from '../../src/flows/underWay';
import { playing } from '../fakeCli';
import { NOW, PENDING, seeing, WITH_NODE } from '../pictures';
import { lab } from './lab';

const KEY = 'here under way';
const BEGUN = `Run Backup, begun ${moment(new Date(NOW).toISOString(), Date.now())}`;
const NOTE = { op: 'backup', sinceMs: NOW };
const RUNNING = { doing: 'backup', host: 'node-1', since: '2026-11-15T11:59:00Z' };

/** A window that opens after one that was reloaded in the middle of a command. */
function reloaded(note: unknown, answers: Record<string, string> = {}) {
  const { context, editor } = lab({}, answers, WITH_NODE);
  editor.memory.set(KEY, note);
  return { editor, underWay: new UnderWay(context) };
}

test('a command that ended with its window is named by the next one, once', async () => {
  const { editor, underWay } = reloaded(NOTE, { [BEGUN]: 'Run Backup' });
  await underWay.look(seeing(WITH_NODE));
  await underWay.look(seeing(WITH_NODE));
  expect(editor.seen).toEqual([
    `warning: ${BEGUN}, was interrupted when this window was closed or reloaded. | Run Backup`,
    'command: scratchflow.backup',
  ]);
  expect(editor.memory.get(KEY)).toBeUndefined();
});

test('what still runs is told as that, and when it has ended', async () => {
  const { editor, underWay } = reloaded(NOTE);
  await underWay.look(seeing({ ...WITH_NODE, running: RUNNING }));
  await underWay.look(seeing({ ...WITH_NODE, running: RUNNING }));
  expect(editor.seen).toEqual([`info: ${BEGUN}: scratchflow backup is still at work on node-1.`]);
  await underWay.look(seeing(WITH_NODE));
  expect(editor.seen.at(-1)).toBe('info: scratchflow backup has ended.');
});

test('a request that waits in the queue is not called interrupted', async () => {
  const { editor, underWay } = reloaded({ ...NOTE, op: 'up' });
  await underWay.look(seeing(PENDING));
  expect(editor.seen).toEqual([]);
});

test('nothing is told where nothing was under way', async () => {
  for (const note of [undefined, 'nonsense', { op: 'no such command', sinceMs: NOW }]) {
    const { editor, underWay } = reloaded(note);
    await underWay.look(seeing(WITH_NODE));
    expect(editor.seen).toEqual([]);
  }
});

test('a command leaves its note behind only when the window closes under it', async () => {
  const ended = lab({ backup: playing('backup') }, {}, WITH_NODE);
  await backup(ended.context);
  expect(ended.editor.memory.has(KEY)).toBe(true);
  expect(ended.editor.memory.get(KEY)).toBeUndefined();
  const hang = { backup: { steps: [{ hello: true }, { hang: true }] } };
  const cut = lab(hang, {}, WITH_NODE);
  const running = backup(cut.context);
  await expect.poll(() => cut.calls().length).toBe(1);
  cut.cli.dispose();
  await expect(running).rejects.toThrow();
  expect(cut.editor.memory.get(KEY)).toMatchObject({ op: 'backup' });
});
