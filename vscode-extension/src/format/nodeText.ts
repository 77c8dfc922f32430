// What is free on a node, as text. Pure.

import type { NodeRow } from '../cli/protocol';
import { plain } from './words';

/** `2/4 a100, 8/16 CPUs free`: short, for a narrow side bar. */
export function freeText(node: NodeRow): string {
  return node.available ? `${shareText(node)} free` : plain(node.state);
}

/** `2/4 a100, 8/16 CPUs`: where it is plain that the first number is what is free. */
export function shareText(node: NodeRow): string {
  return [...gpuTexts(node), `${node.cpus_free}/${node.cpus} CPUs`].join(', ');
}

/** By type where Slurm knows them: one kind cannot stand in for another. */
function gpuTexts({
  gpus,
  gpus_free: free,
  gpu_type: type,
  gpus_by_type: types,
}: NodeRow): string[] {
  if (gpus === 0) return [];
  if (types && types.length > 1) return types.map((one) => part(one.free, one.total, one.type));
  return [part(free, gpus, type ?? '')];
}

function part(free: number | null, total: number, type: string): string {
  return `${free ?? '?'}/${total} ${plain(type) || 'GPUs'}`;
}
