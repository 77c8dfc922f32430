// An event as a line under a progress notification. Pure.

import type { AnyEvent, Progress, State } from '../cli/protocol';
import { duration, plain, size } from './words';

export interface Shown {
  readonly message: string;
  /** How much of the whole is done, when that is known. */
  readonly percent?: number;
}

export function progressText(event: AnyEvent): Shown | undefined {
  if (event.type === 'progress') return countsText(event);
  if (event.type === 'state') return { message: stateText(event, Date.now()) };
  // An editor has Cancel instead of the keys of a terminal.
  const isForUs = event.type === 'log' && event.level === 'info' && event.for_terminal !== true;
  return isForUs ? { message: plain(event.message) } : undefined;
}

function countsText(event: Progress): Shown {
  if (isBare(event)) return { message: plain(event.phase) };
  const { phase, files_done = 0, files_total, bytes_done = 0, bytes_total } = event;
  const files = ofTotal(files_done.toLocaleString('en'), files_total?.toLocaleString('en'));
  const bytes = ofTotal(size(bytes_done), bytes_total ? size(bytes_total) : undefined);
  const message = `${plain(phase)}: ${files} files, ${bytes}`;
  return bytes_total ? { message, percent: (100 * bytes_done) / bytes_total } : { message };
}

/** Whether the phase counts nothing, or nothing yet. */
export function isBare({ files_done, files_total, bytes_done, bytes_total }: Progress): boolean {
  return !files_done && !bytes_done && !files_total && !bytes_total;
}

function ofTotal(done: string, total: string | undefined): string {
  return total === undefined ? done : `${done} of ${total}`;
}

const STATE_TEXTS: Record<string, string> = {
  pending: 'waiting in the queue',
  configuring: 'the node is being made ready',
  running: 'the node is yours',
  completing: 'the node is being given back',
  ended: 'the allocation has ended',
};

/** An allocation's state, with the queue's reason and Slurm's estimate of the start where it has them. */
export function stateText(
  {
    state,
    reason,
    node,
    start_estimate,
    resumed,
    job_id,
  }: Pick<State, 'state' | 'reason' | 'node' | 'start_estimate' | 'resumed' | 'job_id'>,
  nowMs: number,
): string {
  const words = [STATE_TEXTS[state] ?? plain(state)];
  if (state === 'pending' && resumed) words.push(`job ${job_id ?? '?'}, requested earlier`);
  if (node) words.push(plain(node));
  if (reason) words.push(plain(reason));
  if (state === 'pending' && start_estimate) words.push(estimate(start_estimate, nowMs));
  return words.join(' · ');
}

function estimate(time: string, nowMs: number): string {
  const left = (Date.parse(time) - nowMs) / 1000;
  return left > 0 ? `starts in about ${duration(left)}` : 'should start any moment';
}
