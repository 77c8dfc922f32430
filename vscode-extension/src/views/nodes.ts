// The rows of the view Nodes. Pure.

import { freeText } from '../format/nodeText';
import type { NodeRow } from '../cli/protocol';
import { plain, size } from '../format/words';
import type { Row } from './row';

export function nodeRows(nodes: readonly NodeRow[]): Row[] {
  return nodes.map((node) => ({
    label: plain(node.name),
    description: freeText(node) + (node.warm === null ? '' : ' · warm'),
    tooltip: tooltipOf(node),
    ...markOf(node),
  }));
}

function markOf(node: NodeRow): Pick<Row, 'icon' | 'tint'> {
  if (isBusy(node)) return { icon: 'server' };
  if (!node.available) return { icon: 'circle-slash', tint: 'bad' };
  if (node.warm !== null) return { icon: 'flame', tint: 'warning' };
  return { icon: 'server', tint: 'good' };
}

/** Somebody works there: nothing is wrong with it. */
function isBusy(node: NodeRow): boolean {
  return !node.available && node.state === 'in use';
}

function tooltipOf(node: NodeRow): string {
  const memory = node.memory_free_bytes === null ? '?' : size(node.memory_free_bytes);
  const lines = [
    `${plain(node.name)}: ${plain(node.state)}`,
    `partitions ${plain(node.partitions.join(', '))}`,
    `memory free ${memory} of ${size(node.memory_bytes)}`,
  ];
  if (node.gpu_type) lines.push(`GPUs ${plain(node.gpu_type)}`);
  if (node.reason) lines.push(plain(node.reason));
  if (node.warm !== null) lines.push(`warm: holds snapshot ${plain(node.warm)}`);
  return lines.join('\n');
}
