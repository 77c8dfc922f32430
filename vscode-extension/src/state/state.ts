// The state machine: what is known about the cluster, and how each happening changes it. Pure.

import type { Problem } from '../cli/problem';
import type { Allocated, AllocationShown, State, StatusShown } from '../cli/protocol';

/** The state of the one long-lived `status --watch`. */
export type Link =
  | { readonly is: 'starting' }
  | { readonly is: 'watching' }
  /** The window was out of sight for long; what is shown is as old as it says. */
  | { readonly is: 'paused' }
  /** It ended; it is started again at that time. */
  | { readonly is: 'waiting'; readonly problem: Problem; readonly retryAtMs: number }
  /** Starting it again would not help; the user has to do something. */
  | { readonly is: 'stopped'; readonly problem: Problem };

/** A request for a node that this window made and that is not granted yet. */
export interface Request {
  readonly state: string;
  readonly reason: string | null;
  readonly jobId: number | null;
}

export interface Picture {
  readonly link: Link;
  readonly status: StatusShown | undefined;
  /** When `status` was true: ages are counted from there, so a wrong clock does no harm. */
  readonly seenMs: number;
  readonly request: Request | undefined;
  /** The profile that this window was switched to and that has not answered yet; empty when its name is not known. */
  readonly asking?: string;
}

export type Happening =
  | { readonly type: 'link'; readonly link: Link }
  | { readonly type: 'status'; readonly data: StatusShown; readonly atMs: number }
  /** Another profile is in use: nothing is known of it yet. */
  | { readonly type: 'switched'; readonly profile: string }
  | { readonly type: 'asked' }
  | { readonly type: 'state'; readonly event: State }
  | { readonly type: 'granted'; readonly data: Allocated; readonly atMs: number }
  | { readonly type: 'released'; readonly atMs: number }
  | { readonly type: 'settled' };

export const UNKNOWN: Picture = {
  link: { is: 'starting' },
  status: undefined,
  seenMs: 0,
  request: undefined,
};

const ASKING: Request = { state: 'asking', reason: null, jobId: null };

export function next(picture: Picture, happening: Happening): Picture {
  switch (happening.type) {
    case 'link':
      return { ...picture, link: linkAfter(picture, happening.link) };
    case 'status':
      return {
        link: { is: 'watching' },
        status: happening.data,
        seenMs: happening.atMs,
        request: picture.request,
      };
    case 'switched':
      return { ...UNKNOWN, asking: happening.profile };
    case 'asked':
      return { ...picture, request: ASKING };
    case 'state':
      return picture.request ? { ...picture, request: requestOf(happening.event) } : picture;
    case 'granted':
      return withAllocation(picture, allocationOf(happening.data, happening.atMs), happening.atMs);
    case 'released':
      return withAllocation(picture, null, happening.atMs);
    case 'settled':
      return { ...picture, request: undefined };
  }
}

/** While it is tried again, what is shown is as old as before: that it is out of date stays in sight. */
function linkAfter({ link: before, status }: Picture, link: Link): Link {
  return link.is === 'starting' && status && before.is !== 'watching' ? before : link;
}

/** The picture after a command, until the next status reports the same. */
function withAllocation(
  picture: Picture,
  allocation: AllocationShown | null,
  atMs: number,
): Picture {
  const { status, seenMs } = picture;
  if (!status) return picture;
  const parked = allocation === null;
  const alias = status.alias && { ...status.alias, parked, target: allocation?.node ?? null };
  const age = status.snapshots.last_age_s;
  const passed = (atMs - seenMs) / 1000;
  const snapshots = {
    ...status.snapshots,
    last_age_s: typeof age === 'number' ? age + passed : null,
  };
  const saved = status.saved && { ...status.saved, age_s: status.saved.age_s + passed };
  const now = { ...status, allocation, alias, snapshots, saved: saved ?? null };
  return { ...picture, status: now, seenMs: atMs };
}

function allocationOf(
  { job_id, node, partition, end_time }: Allocated,
  atMs: number,
): AllocationShown {
  const left = end_time === null ? null : (Date.parse(end_time) - atMs) / 1000;
  return { state: 'running', job_id, node, partition, end_time, seconds_left: left };
}

function requestOf({ state, reason, job_id }: State): Request {
  return { state, reason: reason ?? null, jobId: job_id ?? null };
}

/** Since when nobody has looked, when what is shown may be out of date; nothing while the watch runs. */
export function staleSince({ link, status, seenMs }: Picture): number | undefined {
  const isLive = link.is === 'watching' || link.is === 'starting';
  return status && !isLive ? seenMs : undefined;
}

/** Whether a connection that was lost is there again. */
export function isBack(now: Picture, before: Picture): boolean {
  return now.link.is === 'watching' && 'problem' in before.link;
}

export type Phase = 'unknown' | 'none' | 'waiting' | 'held' | 'ending';

/** Where the allocation is in its life, as far as the user is concerned. */
export function phaseOf(picture: Picture): Phase {
  if (picture.request) return 'waiting';
  if (!picture.status) return 'unknown';
  const { allocation } = picture.status;
  // A session that `up --local` holds on this machine is no compute node.
  if (!allocation || isHere(picture)) return 'none';
  if (allocation.state === 'running' || allocation.state === 'suspended') return 'held';
  return allocation.state === 'completing' || allocation.state === 'ended' ? 'ending' : 'waiting';
}

/** The allocation while it is ours to use. */
export function held(picture: Picture): AllocationShown | undefined {
  return phaseOf(picture) === 'held' ? (picture.status?.allocation ?? undefined) : undefined;
}

/** Whether the workspace is on this machine: a profile without a cluster has no alias. */
export function isHere({ status }: Picture): boolean {
  return status?.alias === null;
}

/** Whether there are profiles beside the one of this window; the built-in one is not among those of the file. */
export function hasOtherProfiles({ status }: Picture): boolean {
  return (status?.profiles ?? 0) > (status?.profile === 'local' ? 0 : 1);
}

export function secondsLeft(picture: Picture, nowMs: number): number | undefined {
  const left = held(picture)?.seconds_left;
  return typeof left === 'number' ? Math.max(0, left - sinceSeen(picture, nowMs)) : undefined;
}

/** How long ago the workspace was last saved; a backup that found nothing new counts. */
export function savedAge(picture: Picture, nowMs: number): number | undefined {
  const age = picture.status?.saved?.age_s;
  return typeof age === 'number' ? age + sinceSeen(picture, nowMs) : undefined;
}

function sinceSeen(picture: Picture, nowMs: number): number {
  return Math.max(0, (nowMs - picture.seenMs) / 1000);
}

/** Whether changes go unsaved for too long, as the CLI judges it. */
export function isSavedLate({ status }: Picture): boolean {
  return status?.saved?.late === true;
}

/** Holds the picture and calls the listeners when it changes. */
export class Store {
  private current: Picture = UNKNOWN;
  private readonly listeners = new Set<(picture: Picture, before: Picture) => void>();

  get picture(): Picture {
    return this.current;
  }

  dispatch(happening: Happening): void {
    const before = this.current;
    this.current = next(before, happening);
    for (const listener of this.listeners) listener(this.current, before);
  }

  onChange(listener: (picture: Picture, before: Picture) => void): { dispose: () => void } {
    this.listeners.add(listener);
    return { dispose: () => this.listeners.delete(listener) };
  }
}
