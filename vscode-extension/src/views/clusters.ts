// The rows of the view Clusters: every profile as `status --all` has it, and beneath what the last sync left. Pure.

import { posix } from 'node:path';
import type {
  LastPair,
  PathProblem,
  ProfileFailure,
  StatusOfAll,
  StatusShown,
  SyncRecalled,
} from '../cli/protocol';
import { problemText } from '../format/problemText';
import { conflictText, lastText, type ClusterRef, type ConflictRef } from '../format/syncText';
import { ago, counted, duration, moment, plain } from '../format/words';
import { held, isHere, next, phaseOf, savedAge, secondsLeft, UNKNOWN } from '../state/state';
import type { Picture } from '../state/state';
import type { Row } from './row';

/** In the order of the file; those that gave no answer with the CLI's reason. `own` is the profile of this window. */
export function clusterRows({ profiles, failed = [] }: StatusOfAll, own: string): Row[] {
  return [
    ...profiles.map((status) => clusterRow(status, status.profile === own)),
    ...failed.map((failure) => failedRow(failure, failure.profile === own)),
  ];
}

function clusterRow(status: StatusShown, isOwn: boolean): Row {
  // All ages are of the moment of the answer, which the view names.
  const picture = next(UNKNOWN, { type: 'status', data: status, atMs: 0 });
  const problems = (status.problems ?? []).map(({ detail, fix }) =>
    problemText({ code: '', message: detail, hint: fix, retryable: false }),
  );
  const name = plain(status.profile);
  const text = [nodeText(picture), backupText(picture)].join(' · ');
  const kind = isHere(picture) ? 'here' : 'cluster';
  return {
    ...rowOf(status.profile, isOwn, text),
    tooltip: [`${name}: ${text}`, ...problems].join('\n'),
    kind: `${kind} ${isOwn ? 'own' : 'other'}`,
    ...(problems.length > 0 ? { icon: 'warning', tint: 'warning' as const } : {}),
  };
}

function failedRow({ profile, login, message, hint = '' }: ProfileFailure, isOwn: boolean): Row {
  const problem = problemText({ code: '', message, hint, retryable: true });
  return {
    ...rowOf(profile, isOwn, plain(message)),
    tooltip: `${plain(profile)} (${plain(login)}): ${problem}`,
    kind: `silent ${isOwn ? 'own' : 'other'}`,
    icon: 'warning',
    tint: 'warning',
  };
}

function rowOf(profile: string, isOwn: boolean, text: string): Row {
  const ref: ClusterRef = { profile };
  return {
    id: `cluster ${profile}`,
    label: plain(profile),
    // Its icon says so, too: a narrow side bar cuts off the end.
    description: isOwn ? `${text} · this window` : text,
    icon: isOwn ? 'check' : 'server-environment',
    ref,
  };
}

function nodeText(picture: Picture): string {
  switch (phaseOf(picture)) {
    case 'held':
      return heldText(picture);
    case 'waiting':
      return 'waiting for a node';
    case 'ending':
      return 'node is going back';
    default:
      return isHere(picture) ? 'this machine' : 'no node';
  }
}

function heldText(picture: Picture): string {
  const left = secondsLeft(picture, picture.seenMs);
  const node = plain(held(picture)?.node ?? 'node');
  return left === undefined ? node : `${node} · ${duration(left)} left`;
}

function backupText(picture: Picture): string {
  const age = savedAge(picture, picture.seenMs);
  return age === undefined ? 'no backup yet' : `backup ${ago(age)}`;
}

const MARKS: Record<NonNullable<LastPair['condition']>, Pick<Row, 'icon' | 'tint'>> = {
  never: { icon: 'sync-ignored' },
  clean: { icon: 'pass', tint: 'good' },
  conflicts: { icon: 'warning', tint: 'warning' },
  incomplete: { icon: 'warning', tint: 'warning' },
};

/** A row for each pair of homes, and beneath what was left as it is. */
export function syncRows({ first, folders, pairs }: SyncRecalled, nowMs: number): Row[] {
  return pairs.map((pair) => pairRow(first, folders, pair, nowMs));
}

function pairRow(first: string, folders: readonly string[], pair: LastPair, nowMs: number): Row {
  const beneath = pairChildren(first, pair);
  const ref: ClusterRef = { profile: pair.profile };
  return {
    // A row that is known already is not opened when something comes to lie beneath it.
    id: `sync ${first} ${pair.profile} ${beneath.length > 0 ? 'open' : 'clean'}`,
    label: `${plain(first)} ↔ ${plain(pair.profile)}`,
    description: lastText(pair),
    tooltip: pairTooltip(first, folders, pair, nowMs),
    ...MARKS[pair.condition ?? 'never'],
    kind: 'sync',
    ref,
    ...(beneath.length > 0 ? { children: () => Promise.resolve(beneath), isOpen: true } : {}),
  };
}

function pairTooltip(
  first: string,
  folders: readonly string[],
  pair: LastPair,
  nowMs: number,
): string {
  const { to_first: there = 0, to_profile: here = 0, synced_time: synced } = pair;
  const [a, b] = [plain(first), plain(pair.profile)];
  const changes = `${here} to ${b}, ${there} to ${a}`;
  return [
    `The homes of ${a} and ${b}: ${folders.map(plain).join(', ')}`,
    synced ? `Last sync: ${moment(synced, nowMs)}, changes: ${changes}` : '',
    pair.looked_time ? `Looked for conflicts: ${moment(pair.looked_time, nowMs)}` : '',
  ]
    .filter(Boolean)
    .join('\n');
}

function pairChildren(first: string, pair: LastPair): Row[] {
  const { profile, conflicts = [], conflict_count: count = 0, left = [] } = pair;
  const more = count - conflicts.length;
  return [
    ...conflicts.map((conflict) => conflictRow({ first, profile, conflict })),
    ...(more > 0 ? [{ label: counted(more, 'more conflict'), icon: 'ellipsis' }] : []),
    ...left.map(leftRow),
  ];
}

function conflictRow(ref: ConflictRef): Row {
  const { path } = ref.conflict;
  const text = conflictText(ref);
  return {
    label: plain(path),
    description: text,
    tooltip: `${plain(path)}: ${text}\nClick to keep one of the two`,
    file: posix.basename(path),
    kind: 'conflict',
    ref,
    command: 'scratchflow.conflict.keep',
  };
}

function leftRow({ path, reason }: PathProblem): Row {
  const text = `not synced: ${plain(reason)}`;
  return {
    label: plain(path),
    description: text,
    tooltip: `${plain(path)}: ${text}`,
    icon: 'circle-slash',
  };
}
