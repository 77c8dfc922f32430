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

test('GPUs go by their type, each type by itself', () => {
  const gpus_by_type = [
    { type: 'a100', total: 2, free: 1 },
    { type: 'l4', total: 2, free: null },
  ];
  const gpus = { gpus: 4, gpus_free: 1 };
  expect(freeText(node('n', { ...gpus, gpu_type: 'a100' }))).toBe('1/4 a100, 16/16 CPUs free');
  expect(freeText(node('n', { ...gpus, gpus_by_type }))).toBe('1/2 a100, ?/2 l4, 16/16 CPUs free');
});
