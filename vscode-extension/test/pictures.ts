// Pictures of the cluster for tests.

import { next, UNKNOWN, type Picture } from '../src/state/state';
import type { StatusShown } from '../src/cli/protocol';

export const NOW = Date.parse('2026-11-15T12:00:00Z');

export const NO_NODE: StatusShown = {
  profile: 'aws',
  allocation: null,
  alias: { name: 'compile_machine', target: null, parked: true },
  workspace: { path: '/scratch/alice/work', exists: null, base_snapshot: null },
  snapshots: {
    count: 2,
    last_id: '20261115T114000Z-aaaaaa',
    last_time: '2026-11-15T11:40:00Z',
    last_age_s: 1200,
  },
  autobackup: { enabled: true, every_s: 1800, next_time: '2026-11-15T12:10:00Z', last_error: null },
  saved: { time: '2026-11-15T11:40:00Z', age_s: 1200, late: false },
  session: { name: 'scratchflow', host: 'login', alive: true },
  problems: [],
};

export const WITH_NODE: StatusShown = {
  ...NO_NODE,
  allocation: {
    state: 'running',
    job_id: 7,
    node: 'node-1',
    partition: 'debug',
    start_time: '2026-11-15T09:00:00Z',
    end_time: '2026-11-15T15:00:00Z',
    seconds_left: 3 * 3600,
  },
  alias: { name: 'compile_machine', target: 'node-1', parked: false },
  workspace: {
    path: '/scratch/alice/work',
    exists: true,
    base_snapshot: '20261115T114000Z-aaaaaa',
  },
};

/** A request in the queue. */
export const PENDING: StatusShown = {
  ...NO_NODE,
  allocation: {
    ...{ state: 'pending', job_id: 8, node: null, partition: 'debug', reason: 'Priority' },
    ...{ end_time: null, seconds_left: null },
  },
};

/** Servers that are open here, not yet and not any more, and a port of its own. */
export const SERVING: StatusShown = {
  ...WITH_NODE,
  servers: [
    { name: 'tensorboard', kind: 'tensorboard', node: 'node-1', url: 'http://127.0.0.1:6006/' },
    { name: 'jupyter', kind: 'jupyter', node: 'node-1' },
    { name: 'app', kind: 'command', node: 'node-1', ended: 'exit code 1' },
  ],
  tunnels: [{ name: 'port-8888', local_port: 8889, to: 'port 8888', problem: 'no link' }],
};

/** What is known when `status` said this just now. */
export function seeing(data: StatusShown, atMs = NOW): Picture {
  return next(UNKNOWN, { type: 'status', data, atMs });
}

/** The same, when the CLI says that changes go unsaved for too long. */
export function savedLate(): StatusShown {
  return { ...WITH_NODE, saved: { time: '2026-11-15T11:40:00Z', age_s: 1200, late: true } };
}

export function withLeft(seconds: number): StatusShown {
  const { allocation } = WITH_NODE;
  return { ...WITH_NODE, allocation: allocation && { ...allocation, seconds_left: seconds } };
}
