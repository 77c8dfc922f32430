import { expect, test } from 'vitest';
import { freeOf } from '../../src/format/nodeText';
import { node } from '../nodes';

test('says what is free', () => {
  expect(freeOf(node('n', { gpus: 4, gpus_free: 2, cpus_free: 8 }))).toBe(
    '2/4 GPUs, 8/16 CPUs free',
  );
  expect(freeOf(node('n', { gpus: 4, gpus_free: null }))).toContain('?/4 GPUs');
  expect(freeOf(node('n', { available: false, state: 'drained' }))).toBe('drained');
});
