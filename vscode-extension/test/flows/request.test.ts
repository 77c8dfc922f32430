import { describe, expect, test } from 'vitest';
import { CliError } from '../../src/cli/problem';
import { fillIn, steps } from '../../src/flows/request';
import { node } from '../nodes';
import { lab } from './lab';

const GPU = { type: 'a100', total: 8, free: 6, most_on_a_node: 4, most_free_on_a_node: 2 };

describe('the steps of a request', () => {
  const nodes = [
    node('node-1', { partitions: ['debug', 'gpu'], cpus_free: 3 }),
    node('node-2', { partitions: ['gpu'], available: false, cpus_free: 16 }),
  ];
  const [partitions, gpus, times, cpus, memory] = steps({
    ...{ nodes, partition: 'gpu', gpu_types: [GPU] },
  });
  const values = (step: typeof cpus) => step?.choices.map(({ value }) => value);

  test('offer GPUs by type, as many as a node has, with what is free', () => {
    expect(gpus?.choices.map(({ value }) => value)).toEqual(['0', 'a100:1', 'a100:2', 'a100:4']);
    expect(gpus?.choices[1]?.description).toBe('6 of 8 free, 2 on one node');
  });

  test('say so when Slurm does not tell all that is free', () => {
    const [, unclear] = steps({ nodes, gpu_types: [{ ...GPU, type: '', is_exact: false }] });
    expect(unclear?.choices[1]).toMatchObject({ label: '1', value: '1' });
    expect(unclear?.choices[1]?.description).toBe('at least 6 of 8 free, at least 2 on one node');
  });

  test('say beside each choice on how many nodes as much is free', () => {
    const texts = (step: typeof cpus) => step?.choices.map(({ description }) => description);
    const [none, one] = ['free on 0 of 2 nodes', 'free on 1 of 2 nodes'];
    expect(texts(cpus)).toEqual([one, one, none, none, none]);
    expect(texts(memory)).toEqual([one, one, one, one, one, one, none]);
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

  test('offer nothing that the partition does not have, and the longest time that it allows', () => {
    const t4 = { ...GPU, type: 't4', most_on_a_node: 1 };
    const debug = {
      ...{ name: 'debug', max_time_s: 90 * 60, most_cpus: 4, gpu_types: [t4] },
      most_memory_bytes: 4000 * 1024 ** 2,
    };
    const gpu = { name: 'gpu', max_time_s: null, most_cpus: 64, gpu_types: [GPU] };
    const shown = { nodes, partition: 'gpu', gpu_types: [GPU], partitions: [debug, gpu] };
    const [, gpusThere, timesThere, cpusThere, memoryThere] = steps(shown, 'debug');
    expect(values(gpusThere)).toEqual(['0', 't4:1']);
    expect(values(timesThere)).toEqual(['1h', '90m']);
    expect(timesThere?.choices[1]?.label).toBe('1 h 30 min');
    expect(values(cpusThere)).toEqual(['1', '2', '4']);
    expect(cpusThere?.choices[0]?.description).toBe('free on 1 of 1 node');
    expect(values(memoryThere)).toEqual(['1G', '2G']);
    // Of the profile's own partition, and of several, the largest counts.
    expect(values(steps(shown)[1])).toEqual(values(gpus));
    expect(values(steps(shown)[2])).toEqual(values(times));
    expect(values(steps(shown, 'debug,gpu')[3])).toEqual(['1', '2', '4', '8', '16']);
  });
});

test('a request that is refused for a setting names it, and a button opens it', async () => {
  const as = 'As the profile says';
  const { context, editor } = lab(
    {},
    { Partition: as, GPUs: as, Time: as, CPUs: as, Memory: as, 'The setting': 'Open Setting' },
  );
  const message = '`--set slurm.gpus=9` is more than the 4 GPUs that a node has';
  const problem = { code: 'allocation.refused', message, hint: '', retryable: false };
  await fillIn(context, { nodes: [] }, () => Promise.reject(new CliError(problem)));
  expect(editor.seen.slice(-2)).toEqual([
    'error: The setting `scratchflow.slurm.gpus` (9) is more than the 4 GPUs that a node has. | Change Request | Open Setting | Show Log',
    'command: workbench.action.openSettings scratchflow.slurm.gpus',
  ]);
});
