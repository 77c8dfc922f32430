import { expect, test } from 'vitest';
import { handlers } from '../src/commands';
import { lab } from './flows/lab';

test('Show Jobs asks for them anew', async () => {
  const { context, editor } = lab({});
  const places = { storage: '/s', wheelDirectory: '/w', log: () => undefined };
  await handlers(context, { showDashboard: () => undefined }, places).jobs?.();
  expect(editor.seen).toEqual(['refresh jobs', 'command: scratchflow.jobsView.focus']);
});
