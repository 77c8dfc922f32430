// Submitted jobs and their tasks, as the side bar and the lists to pick from show them. Pure.

import type { JobShown, JobsListed, TaskShown } from '../cli/protocol';
import { plain } from './words';

/** A job, or one task of it. */
export interface JobRef {
  /** What commands are given: the id, since Slurm may give a number out twice. */
  readonly wanted: string;
  /** What people call it: `41`, `41_3`. */
  readonly handle: string;
  readonly name: string;
}

export function jobRef({ job, handle, name }: JobShown): JobRef {
  return { wanted: job, handle: plain(handle ?? job), name: plain(name) };
}

export function taskRef(job: JobShown, { task, handle }: TaskShown): JobRef {
  const wanted = `${job.job}_${task}`;
  return { wanted, handle: plain(handle ?? wanted), name: plain(job.name) };
}

export function newestFirst({ jobs }: JobsListed): JobShown[] {
  return [...jobs].reverse();
}

/** `41 train`. */
export function called({ handle, name }: JobRef): string {
  return [handle, name].filter(Boolean).join(' ');
}

export function statesText({ states, state }: JobShown): string {
  return plain(states || state);
}

/** `lr=0.1 seed=3`. */
export function parametersText({ parameters = {} }: TaskShown): string {
  return plain(
    Object.entries(parameters)
      .map(
        ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
      )
      .join(' '),
  );
}

/** `node-1`, or `node-1 +2` for three of them. */
export function nodesText({ tasks = [] }: JobShown): string {
  const [first, ...others] = new Set(tasks.map(({ node = '' }) => node).filter(Boolean));
  if (first === undefined) return '';
  return plain(others.length > 0 ? `${first} +${others.length}` : first);
}
