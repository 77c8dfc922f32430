import { expect, test } from 'vitest';
import type { StatusShown } from '../../src/cli/protocol';
import { Deadlines } from '../../src/flows/deadlines';
import { NOW, withLeft } from '../pictures';
import { lab } from './lab';

test('the warning names the node and the time, and backs up on a click', async () => {
  const { context, editor } = lab({}, { 'node-1 is yours': 'Run Backup' }, withLeft(3700));
  const deadlines = new Deadlines(context);
  await deadlines.look(NOW);
  expect(editor.seen).toEqual([]);
  await deadlines.look(NOW + 101_000);
  expect(editor.seen[0]).toContain('warning: node-1 is yours for another 59 min.');
  expect(editor.seen.at(-1)).toBe('command: scratchflow.backup');
  await deadlines.look(NOW + 110_000);
  expect(editor.seen).toHaveLength(2);
});

/** What the window tells while it shows one status after the other, each after a switch of its profile. */
async function toldAfterSwitches(...shown: StatusShown[]): Promise<string[]> {
  const { context, editor, store } = lab({});
  const deadlines = new Deadlines(context);
  for (const data of shown) {
    store.dispatch({ type: 'switched', profile: data.profile });
    await deadlines.look(NOW);
    store.dispatch({ type: 'status', data, atMs: NOW });
    await deadlines.look(NOW);
  }
  return editor.seen;
}

const other = (left: number) => ({ ...withLeft(left), profile: 'uni' });
const told = (time: string) => expect.stringContaining(`yours for another ${time}.`) as string;

test('a window that is switched to another profile and back tells of each job once', async () => {
  const seen = await toldAfterSwitches(withLeft(600), other(800), withLeft(590), other(790));
  // The jobs of the two clusters have the same number.
  expect(seen).toEqual([told('10 min'), told('13 min')]);
  const later = await toldAfterSwitches(withLeft(600), other(8000), withLeft(290));
  expect(later).toEqual([told('10 min'), told('4 min')]);
});
