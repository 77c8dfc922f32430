import { describe, expect, test } from 'vitest';
import type { GpuUse, NodeUsage } from '../../src/cli/protocol';
import { usageRows } from '../../src/views/usage';

const GIB = 1024 ** 3;
const SCRATCH = {
  path: '/scratch/alice',
  used_bytes: 95 * GIB,
  free_bytes: 5 * GIB,
  total_bytes: 100 * GIB,
  percent: 95,
};
const GPU: GpuUse = {
  index: 0,
  name: 'NVIDIA A100',
  percent: 87,
  memory_used_bytes: 30 * GIB,
  memory_total_bytes: 40 * GIB,
  memory_percent: 75,
};
const NODE: NodeUsage = {
  node: 'node-1',
  cpu: { used: 3.2, cores: 8, percent: 40, by: 'job' },
  memory: { used_bytes: 12 * GIB, total_bytes: 32 * GIB, percent: 38, by: 'node' },
  scratch: SCRATCH,
  gpus: [GPU],
};

describe('what is in use', () => {
  test('is a row for each, the numbers before the bar, and words for screen readers', () => {
    const rows = usageRows([NODE]);
    expect(rows.map(({ label }) => label)).toEqual(['CPU', 'Memory', 'Scratch', 'GPU 0']);
    expect(rows[0]?.description).toBe('40 % · 3.2/8 cores ███░░░░░');
    expect(rows[0]?.spoken).toBe('CPU 40 percent, 3.2 of 8 cores');
    expect(rows[1]?.description).toBe('38 % · 12/32 GiB ███░░░░░');
    expect(rows.every(({ spoken }) => spoken && !/[█░]/.test(spoken))).toBe(true);
  });

  test('says whose it is', () => {
    const [cpu, memory] = usageRows([NODE]);
    expect(cpu?.tooltip).toBe('Of your job');
    expect(memory?.tooltip).toContain('whole node');
  });

  test('warns when the CLI does, and never by itself', () => {
    expect(usageRows([NODE]).some(({ tint }) => tint)).toBe(false);
    const rows = usageRows([{ ...NODE, warning: '`/scratch/alice` is 95 % full' }]);
    expect(rows[0]).toMatchObject({ icon: 'warning', tint: 'warning' });
    expect(rows.find(({ label }) => label === 'Scratch')?.tint).toBe('warning');
  });

  test('of several nodes is beneath the name of each', async () => {
    const silent = { node: 'node-2', unknown: 'it took longer than 8 s' };
    const rows = usageRows([NODE, silent]);
    expect(rows.map(({ label }) => label)).toEqual(['node-1', 'node-2']);
    expect(await rows[0]?.children?.()).toHaveLength(4);
    expect(await rows[1]?.children?.()).toEqual([
      expect.objectContaining({ label: 'Not known', description: 'it took longer than 8 s' }),
    ]);
  });

  test('leaves out what a GPU does not tell, and says why none is known', () => {
    const mig = { ...GPU, percent: null, memory_used_bytes: null };
    const [gpu, unknown] = usageRows([{ node: 'n', gpus: [mig], gpus_unknown: 'GPU is lost' }]);
    expect(gpu).toMatchObject({ label: 'GPU 0', description: '' });
    expect(unknown?.description).toBe('not known: GPU is lost');
  });

  test('is nothing without a node', () => {
    expect(usageRows([])).toEqual([]);
  });
});
