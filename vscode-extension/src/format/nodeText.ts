// What is free on a node, as text. Pure.

import type { NodeRow } from '../cli/protocol';
import { plain } from './words';

/** `2/4 GPUs, 8/16 CPUs free`: short, for a narrow side bar. */
export function freeText(node: NodeRow): string {
  if (!node.available) return plain(node.state);
  const cpus = `${node.cpus_free}/${node.cpus} CPUs free`;
  if (node.gpus === 0) return cpus;
  return `${node.gpus_free ?? '?'}/${node.gpus} GPUs, ${cpus}`;
}
