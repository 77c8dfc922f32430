import { describe, expect, test } from 'vitest';
import { steps } from '../../src/flows/request';
import { node } from '../nodes';

const GPU = { type: 'a100', total: 8, free: 6, most_on_a_node: 4, most_free_on_a_node: 2 };

describe('the steps of a request', () => {
  const nodes = [
    node('node-1', { partitions: ['debug', 'gpu'], cpus_free: 3 }),
    node('node-2', { partitions: ['gpu'], available: false, cpus_free: 16 }),
  ];
  const [gpus, , cpus, memory, partitions] = steps({ nodes, partition: 'gpu', gpu_types: [GPU] });

  test('offer GPUs by type, as many as a node has, with what is free', () => {
    expect(gpus?.choices.map(({ value }) => value)).toEqual(['0', 'a100:1', 'a100:2', 'a100:4']);
    expect(gpus?.choices[1]?.description).toBe('6 of 8 free, 2 on one node');
  });

  test('say so when Slurm does not tell all that is free', () => {
    const [unclear] = steps({ nodes, gpu_types: [{ ...GPU, type: '', is_exact: false }] });
    expect(unclear?.choices[1]).toMatchObject({ label: '1', value: '1' });
    expect(unclear?.choices[1]?.description).toBe('at least 6 of 8 free, at least 2 on one node');
  });

  test('say beside each choice on how many nodes as much is free', () => {
    const texts = (step: typeof cpus) => step?.choices.map(({ description }) => description);
    const [none, one] = ['free on 0 of 2 nodes', 'free on 1 of 2 nodes'];
    expect(texts(cpus)).toEqual([one, one, none, none, none]);
    expect(texts(memory)).toEqual([one, one, one, none]);
  });

  test('say what is free of cores, and which partitions take jobs', () => {
    expect(cpus?.placeholder).toContain('At most 3 free on one node');
    expect(partitions?.choices).toEqual([
      { label: 'debug', value: 'debug', description: '1 of 1 nodes take jobs now' },
      {
        label: 'gpu',
        value: 'gpu',
        description: '1 of 2 nodes take jobs now',
        detail: 'asked for by the profile',
      },
    ]);
  });
});
