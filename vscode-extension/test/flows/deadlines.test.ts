import { expect, test } from 'vitest';
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
