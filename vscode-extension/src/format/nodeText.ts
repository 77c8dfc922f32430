// What is free on a node, as text. Pure.

import type { NodeRow } from '../cli/protocol';
import { plain } from './words';

/** `2/4 a100, 8/16 CPUs free`: short, for a narrow side bar. */
export function freeText(node: NodeRow): string {
  return node.available ? `${shareText(node)} free` : plain(node.state);
}

function shareText(node: NodeRow): string {
  return partsOf(node)
    .map(({ text }) => text)
    .join(', ');
}

/** One kind of thing that a node has. */
export interface Part {
  /** `2/4 a100`: the first number is what is free. */
  readonly text: string;
  /** How much of it is free, 0 to 1; what is not known counts as nothing. */
  readonly free: number;
}

/** GPUs by type where Slurm knows them, for one kind cannot stand in for another; then CPUs. */
export function partsOf(node: NodeRow): Part[] {
  const { gpus, gpus_free: free, gpu_type: type, gpus_by_type: types } = node;
  const known = types && types.length > 1 ? types : [{ free, total: gpus, type: type ?? '' }];
  return [
    ...(gpus === 0 ? [] : known.map((one) => part(one.free, one.total, one.type || 'GPUs'))),
    part(node.cpus_free, node.cpus, 'CPUs'),
  ];
}

function part(free: number | null, total: number, name: string): Part {
  return { text: `${free ?? '?'}/${total} ${plain(name)}`, free: (free ?? 0) / Math.max(total, 1) };
}
