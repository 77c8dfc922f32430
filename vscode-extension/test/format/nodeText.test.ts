import { expect, test } from 'vitest';
import { freeText } from '../../src/format/nodeText';
import { node } from '../nodes';

test('free GPUs and CPUs of a node, or its state when it cannot be used', () => {
  expect(freeText(node('n', { gpus: 4, gpus_free: 2, cpus_free: 8 }))).toBe(
    '2/4 GPUs, 8/16 CPUs free',
  );
  expect(freeText(node('n', { gpus: 4, gpus_free: null }))).toContain('?/4 GPUs');
  expect(freeText(node('n', { available: false, state: 'drained' }))).toBe('drained');
});
