import { expect, test } from 'vitest';
import { attach } from '../../src/flows/attach';
import { lab } from './lab';

test('Attach Tmux runs the CLI in a terminal, with the profile', async () => {
  const { context, editor } = lab({});
  await attach(context);
  expect(editor.seen).toEqual(['terminal: scratchflow: tmux: attach --profile aws']);
});
