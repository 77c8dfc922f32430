// The rows of the view In Use: what the CLI says of each node, with a bar that screen readers hear as words. Pure.

import type { CpuUse, DiskUse, GpuUse, MemoryUse, NodeUsage } from '../cli/protocol';
import { ofSize, plain, size } from '../format/words';
import type { Row } from './row';

const CELLS = 8;

/** One node's rows; of several nodes, each has its own beneath its name. */
export function usageRows(nodes: readonly NodeUsage[]): Row[] {
  const [first] = nodes;
  if (first === undefined) return [];
  return nodes.length === 1 ? nodeRows(first) : nodes.map(groupRow);
}

function groupRow(node: NodeUsage): Row {
  return {
    id: `usage ${node.node}`,
    label: plain(node.node),
    icon: node.warning ? 'warning' : 'server',
    ...(node.warning ? { tint: 'warning' as const, tooltip: plain(node.warning) } : {}),
    children: () => Promise.resolve(nodeRows(node)),
  };
}

function nodeRows(node: NodeUsage): Row[] {
  if (node.unknown) {
    const why = plain(node.unknown);
    return [{ label: 'Not known', description: why, tooltip: why, icon: 'question' }];
  }
  return [
    ...(node.warning ? [warningRow(node.warning)] : []),
    ...(node.cpu ? [cpuRow(node.cpu)] : []),
    ...(node.memory ? [memoryRow(node.memory)] : []),
    ...(node.scratch ? [scratchRow(node.scratch, Boolean(node.warning))] : []),
    ...(node.gpus ?? []).map(gpuRow),
    ...(node.gpus_unknown ? [gpusUnknownRow(node.gpus_unknown)] : []),
  ];
}

function warningRow(warning: string): Row {
  const label = plain(warning);
  return { label, tooltip: label, icon: 'warning', tint: 'warning' };
}

function cpuRow({ used, cores, percent, by }: CpuUse): Row {
  return barRow('CPU', percent, `${used}/${cores} cores`, whose(by), 'pulse');
}

function memoryRow({ used_bytes, total_bytes, percent, by }: MemoryUse): Row {
  return barRow('Memory', percent, ofSize(used_bytes, total_bytes), whose(by), 'chip');
}

function scratchRow(
  { path, used_bytes, free_bytes, total_bytes, percent }: DiskUse,
  isShort: boolean,
): Row {
  const tooltip = `${plain(path)}: ${size(free_bytes)} free`;
  const row = barRow('Scratch', percent, ofSize(used_bytes, total_bytes), tooltip, 'database');
  return isShort ? { ...row, tint: 'warning' } : row;
}

function gpuRow(gpu: GpuUse): Row {
  const { index, name, percent, memory_used_bytes: used, memory_total_bytes: total } = gpu;
  const memory = used === null || total === null ? '' : `memory ${ofSize(used, total)}`;
  const label = `GPU ${index}`;
  if (percent !== null) return barRow(label, percent, memory, plain(name), 'circuit-board');
  return { label, description: memory, tooltip: plain(name), icon: 'circuit-board' };
}

function gpusUnknownRow(reason: string): Row {
  const why = plain(reason);
  return { label: 'GPUs', description: `not known: ${why}`, tooltip: why, icon: 'question' };
}

function barRow(label: string, percent: number, text: string, tooltip: string, icon: string): Row {
  const full = Math.round((CELLS * percent) / 100);
  const bar = '█'.repeat(full) + '░'.repeat(CELLS - full);
  // The numbers first: a narrow side bar cuts off the end.
  const numbers = [`${percent} %`, text].filter(Boolean).join(' · ');
  const description = `${numbers} ${bar}`;
  const words = text.replace('/', ' of ');
  const spoken = [`${label} ${percent} percent`, words].filter(Boolean).join(', ');
  return { label, description, tooltip, icon, spoken };
}

function whose(by: 'job' | 'node'): string {
  return by === 'job' ? 'Of your job' : 'Of the whole node: nothing tells what your job alone uses';
}
