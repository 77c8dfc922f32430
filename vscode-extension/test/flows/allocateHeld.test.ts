import { describe, expect, test } from 'vitest';
import { allocate } from '../../src/flows/allocate';
import { answering, playing, type Play } from '../fakeCli';
import { node } from '../nodes';
import { WITH_NODE } from '../pictures';
import { lab } from './lab';

const PLAY: Play = { 'config show': playing('config-show') };

describe('while a node is held', () => {
  test('says so before anything is asked, and offers to open the workspace or to move', async () => {
    const answers = { 'node-1 is yours already': 'Move to Another Node' };
    const { context, editor, argvs } = lab(PLAY, answers, WITH_NODE);
    await allocate(context);
    expect(editor.picked.map(({ label }) => label)).toEqual([
      'Open Workspace',
      'Move to Another Node',
    ]);
    expect(editor.seen).toEqual(['pick: node-1 is yours already', 'command: scratchflow.hop']);
    expect(argvs()).toEqual(['config show']);
  });

  test('offers the same when only the CLI knows of it', async () => {
    const nodes = answering({ nodes: [node('node-1'), node('node-2')], held: ['node-1'] });
    const answers = { 'Allocate Compute Node': 'Open Workspace' };
    const { context, editor, argvs } = lab({ ...PLAY, nodes }, answers);
    await allocate(context);
    expect(editor.picked[0]?.description).toBe('node-1 is yours already');
    expect(editor.seen.at(-1)).toBe('command: scratchflow.open');
    expect(argvs()).toEqual(['config show', 'nodes']);
  });
});
