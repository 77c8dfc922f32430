import { expect, test } from 'vitest';
import { shell, shellTerminal } from '../../src/flows/shell';
import { lab } from './lab';

test('Open Shell on Node runs the CLI in a terminal, with the profile', async () => {
  const { context, editor } = lab({});
  await shell(context);
  expect(editor.seen).toEqual(['terminal: scratchflow: node: shell --profile aws']);
});

test('the terminal profile runs the same', async () => {
  const { context } = lab({});
  const { name, file, args } = await shellTerminal(context);
  expect([name, file, args]).toEqual([
    'scratchflow: node',
    await context.locate(),
    ['shell', '--profile', 'aws'],
  ]);
});
