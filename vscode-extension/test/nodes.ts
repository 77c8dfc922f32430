// Nodes for tests.

import type { NodeRow } from '../src/cli/protocol';

export function node(name: string, given: Partial<NodeRow> = {}): NodeRow {
  return {
    name,
    warm: null,
    partitions: ['debug'],
    state: 'idle',
    available: true,
    cpus: 16,
    cpus_free: 16,
    memory_bytes: 64 * 1024 ** 3,
    memory_free_bytes: 32 * 1024 ** 3,
    gpus: 0,
    gpus_free: 0,
    ...given,
  };
}
