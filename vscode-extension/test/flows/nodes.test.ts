import { expect, test } from 'vitest';
import { showNodes } from '../../src/flows/nodes';
import { answering, playing } from '../fakeCli';
import { lab } from './lab';

test('Show Nodes asks what is free now, and shows the view at once', async () => {
  const { context, editor } = lab({ nodes: answering({ nodes: [] }) });
  await showNodes(context);
  expect(editor.seen).toEqual(['nodes', 'command: scratchflow.nodesView.focus']);
});

test('Show Nodes shows the view also when there is no answer', async () => {
  const { context, editor } = lab({ nodes: playing('refused') });
  await showNodes(context);
  expect(editor.seen.at(-1)).toBe('command: scratchflow.nodesView.focus');
});
