import { expect, test } from 'vitest';
import { nodeRows } from '../../src/views/nodes';
import { node } from '../nodes';

test('the view Nodes says what is free and which are warm', () => {
  const rows = nodeRows([
    node('a', { warm: 'x' }),
    node('b', { available: false, state: 'down', reason: 'disk' }),
  ]);
  expect(rows[0]).toMatchObject({ description: '16/16 CPUs free · warm', icon: 'flame' });
  expect(rows[1]).toMatchObject({ tint: 'bad' });
  expect(rows[1]?.tooltip).toContain('disk');
});
