import { expect, test } from 'vitest';
import { handlers } from '../src/commands';
import type { Context } from '../src/flows/context';
import { OFFERS } from '../src/verbs';
import type { Row } from '../src/views/row';
import { lab } from './flows/lab';

function commands(context: Context) {
  const places = { storage: '/s', wheelDirectory: '/w', log: () => undefined };
  return handlers(context, { showDashboard: () => undefined }, places);
}

test('every command of the table has a handler, and no handler is without a command', () => {
  const names = OFFERS.map(({ command }) => command.replace('scratchflow.', ''));
  expect(Object.keys(commands(lab({}).context)).sort()).toEqual(names.sort());
});

test('Show Jobs asks for them anew', async () => {
  const { context, editor } = lab({});
  await commands(context).jobs?.();
  expect(editor.seen).toEqual(['refresh jobs', 'command: scratchflow.jobsView.focus']);
});

test('Copy Snapshot Id copies the whole id of the row', async () => {
  const { context, editor } = lab({});
  const row: Row = { label: 'today, 11:40', ref: { id: '20261115T114000Z-aaaaaa' } };
  const copy = commands(context)['snapshot.copy'] as ((row: Row) => Promise<void>) | undefined;
  await copy?.(row);
  expect(editor.seen).toEqual(['copied: 20261115T114000Z-aaaaaa']);
});
