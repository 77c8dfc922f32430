// Servers and tunnels of `status`, as the side bar and the dashboard show them. Pure.

import type { ServerShown, StatusShown, TunnelShown } from '../cli/protocol';
import { plain } from './words';

export interface Service {
  readonly name: string;
  readonly text: string;
  readonly tint: 'good' | 'warning' | 'bad';
  /** One that has ended can be taken off the list, and nothing else. */
  readonly isRunning: boolean;
  /** A server of the node, and not only a local port that leads there. */
  readonly isServer: boolean;
}

export function servicesOf(status: StatusShown | undefined): Service[] {
  return [...(status?.servers ?? []).map(ofServer), ...(status?.tunnels ?? []).map(ofTunnel)];
}

function ofServer({ name, node, url, ended, problem }: ServerShown): Service {
  const isRunning = !ended;
  const shared = { name, isRunning, isServer: true };
  if (ended) return { ...shared, text: plain(`ended on ${node}: ${ended}`), tint: 'bad' };
  if (problem) return { ...shared, text: plain(`on ${node}, waits: ${problem}`), tint: 'warning' };
  const where = url ? `${url} → ${node}` : `on ${node}, not open here yet`;
  return { ...shared, text: plain(where), tint: 'good' };
}

function ofTunnel({ name, local_port, to, problem }: TunnelShown): Service {
  const where = `http://127.0.0.1:${local_port}/ → ${to.replaceAll('`', '')}`;
  return {
    name,
    text: plain(problem ? `${where}, waits: ${problem}` : where),
    tint: problem ? 'warning' : 'good',
    isRunning: true,
    isServer: false,
  };
}
