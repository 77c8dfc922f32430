// What a sync left, as the side bar and messages say it. Pure.

import type { Conflict, LastPair, Synced, SyncedPair } from '../cli/protocol';
import { ago, counted, plain } from './words';

/** What a row of a profile, or of its home, stands for. */
export interface ClusterRef {
  readonly profile: string;
}

/** A path that changed in the homes of both `first` and `profile`. */
export interface ConflictRef extends ClusterRef {
  readonly first: string;
  readonly conflict: Conflict;
}

/** `changed on uni, deleted on aws`. */
export function conflictText({ first, profile, conflict }: ConflictRef): string {
  if (conflict.same_contents) return 'same contents, different permissions';
  return `${plain(conflict.first)} on ${plain(first)}, ${plain(conflict.other)} on ${plain(profile)}`;
}

/** `2 conflicts · synced 12 min ago`. */
export function lastText(pair: LastPair): string {
  const { synced_age_s: age, conflict_count: conflicts = 0, left = [] } = pair;
  return [
    conflicts > 0 ? counted(conflicts, 'conflict') : '',
    left.length > 0 ? `${counted(left.length, 'path')} not synced` : '',
    typeof age === 'number' ? `synced ${ago(age)}` : 'not synced from here yet',
  ]
    .filter(Boolean)
    .join(' · ');
}

/** What one run did between two homes: `2 changes to aws, 1 change to uni`. */
export function broughtText(first: string, pair: SyncedPair): string {
  const { to_first: there = 0, to_profile: here = 0, deleted = 0 } = pair;
  if (there + here === 0)
    return `Nothing to bring between ${plain(first)} and ${plain(pair.profile)}`;
  const parts = [
    `${counted(here, 'change')} to ${plain(pair.profile)}`,
    `${counted(there, 'change')} to ${plain(first)}`,
    deleted > 0 ? `${counted(deleted, 'deletion')} among them` : '',
  ];
  return parts.filter(Boolean).join(', ');
}

/** What one run left as it is: `1 conflict, 2 paths not synced, aws not synced: …`; empty when nothing was. */
export function leftText({ pairs, failed: away = [] }: Pick<Synced, 'pairs' | 'failed'>): string {
  const conflicts = sum(pairs, ({ conflicts: found = [] }) => found.length);
  const left = sum(pairs, ({ skipped = [], failed = [] }) => skipped.length + failed.length);
  return [
    conflicts > 0 ? counted(conflicts, 'conflict') : '',
    left > 0 ? `${counted(left, 'path')} not synced` : '',
    ...away.map(({ profile, message }) => `${plain(profile)} not synced: ${plain(message)}`),
  ]
    .filter(Boolean)
    .join(', ');
}

function sum<T>(all: readonly T[], count: (one: T) => number): number {
  return all.reduce((total, one) => total + count(one), 0);
}
