// What the dashboard shows, as plain data that the page draws. Pure.

import { SHORT_S } from '../state/deadline';
import { freeText, partsOf } from '../format/nodeText';
import type { AutobackupShown, NodeRow, SnapshotRow } from '../cli/protocol';
import type { Problem } from '../cli/problem';
import { problemText } from '../format/problemText';
import { held, isHere, isSavedLate, savedAge, secondsLeft } from '../state/state';
import { phaseOf, staleSince, type Picture } from '../state/state';
import { servicesOf, type Service } from '../format/serviceText';
import { messageOf } from '../format/snapshotText';
import { ago, counted, duration, moment, plain, size } from '../format/words';
import { unsavedText } from '../views/allocation';
import { statusBar } from '../views/statusBar';

export interface Fact {
  readonly name: string;
  readonly value: string;
  readonly tint: Tint;
}

export type Tint = 'plain' | 'good' | 'warning' | 'bad';

export interface Bar {
  /** What is left of the whole, 0 to 1. */
  readonly share: number;
  readonly label: string;
  readonly tint: Tint;
}

export interface Mark {
  /** Where on the time axis and how high, both 0 to 1. */
  readonly x: number;
  readonly height: number;
  readonly tint: Tint;
  readonly isFull: boolean;
  readonly label: string;
}

export interface Day {
  readonly x: number;
  readonly label: string;
}

export interface Cell {
  readonly name: string;
  /** What is free there of what is scarcest, in words; and how much of that is free, 0 to 1. */
  readonly text: string;
  readonly free: number;
  /** The rest, in words. */
  readonly more: string;
  readonly isAvailable: boolean;
  readonly isWarm: boolean;
  readonly label: string;
}

export interface Dashboard {
  readonly headline: string;
  /** Without a cluster there are no nodes to speak of. */
  readonly hasCluster: boolean;
  /** Whether the first thing to do is to take a node. */
  readonly canStart: boolean;
  readonly facts: readonly Fact[];
  readonly timeLeft: Bar | undefined;
  readonly services: readonly Service[];
  readonly timeline: {
    readonly marks: readonly Mark[];
    readonly from: string;
    readonly to: string;
    /** Where a day begins on the axis. */
    readonly days: readonly Day[];
    readonly legend: string;
  };
  readonly snapshotsText: string;
  readonly cells: readonly Cell[];
  readonly nodesText: string;
  readonly nodesLegend: string;
}

export interface Ingredients {
  readonly picture: Picture;
  readonly snapshots: Asked<SnapshotRow>;
  readonly nodes: Asked<NodeRow>;
  readonly nowMs: number;
}

/** A list, or why it cannot be had; nothing before it was asked for. */
export type Asked<T> = readonly T[] | Problem | undefined;

export function dashboard(from: Ingredients): Dashboard {
  const { picture, nowMs } = from;
  const [snapshots, nodes] = [rowsOf(from.snapshots), rowsOf(from.nodes)];
  return {
    headline: headlineOf(picture, nowMs),
    hasCluster: !isHere(picture),
    canStart: !isHere(picture) && phaseOf(picture) === 'none',
    facts: factsOf(picture, nowMs),
    timeLeft: timeLeftOf(from),
    services: servicesOf(picture.status),
    timeline: timelineOf(snapshots, nowMs),
    snapshotsText: missingText(from.snapshots) ?? snapshotsText(snapshots, picture),
    cells: nodes.map(cellOf),
    nodesText: missingText(from.nodes) ?? nodesText(nodes),
    nodesLegend: nodesLegend(nodes),
  };
}

function rowsOf<T>(asked: Asked<T>): readonly T[] {
  return asked === undefined || 'code' in asked ? [] : asked;
}

/** Why there is no list: an empty one would say that there is nothing. */
function missingText(asked: Asked<unknown>): string | undefined {
  if (asked === undefined) return 'Not known yet.';
  return 'code' in asked ? `Not known now. ${problemText(asked)}` : undefined;
}

/** The node; what else the status bar says of it has a place of its own on the page. */
function headlineOf(picture: Picture, nowMs: number): string {
  const node = held(picture)?.node;
  return node ? plain(node) : statusBar(picture, nowMs).text.replace(/^\$\([^)]*\) /, '');
}

function factsOf(picture: Picture, nowMs: number): Fact[] {
  const { status } = picture;
  if (!status) return [];
  const age = savedAge(picture, nowMs);
  const isLate = isSavedLate(picture);
  const since = staleSince(picture);
  const asOf = since === undefined ? '' : moment(new Date(since).toISOString(), nowMs);
  return [
    ...(asOf === '' ? [] : [fact('As of', `${asOf}: nobody has looked since`, 'warning')]),
    fact('Profile', status.profile),
    fact('Workspace', status.workspace.path),
    fact('Last backup', age === undefined ? 'none yet' : ago(age), isLate ? 'warning' : 'plain'),
    autobackupFact(status.autobackup),
  ];
}

function autobackupFact(auto: AutobackupShown): Fact {
  if (auto.last_error) return fact('Auto-backup', auto.last_error, 'bad');
  if (auto.enabled && auto.unsaved) return fact('Auto-backup', unsavedText(auto.unsaved), 'bad');
  return fact('Auto-backup', auto.enabled ? `every ${duration(auto.every_s)}` : 'off');
}

function fact(name: string, value: string, tint: Tint = 'plain'): Fact {
  return { name, value: plain(value), tint };
}

function timeLeftOf({ picture, nowMs }: Ingredients): Bar | undefined {
  const left = secondsLeft(picture, nowMs);
  if (left === undefined) return undefined;
  const end = held(picture)?.end_time;
  const until = end ? `, until ${moment(end, nowMs)}` : '';
  const tint = left < SHORT_S ? 'bad' : left < 4 * SHORT_S ? 'warning' : 'good';
  return {
    share: left / Math.max(wholeTime(picture), left, 1),
    label: `${duration(left)} left${until}`,
    tint,
  };
}

/** How long the allocation is in all, in seconds. */
function wholeTime(picture: Picture): number {
  const { start_time, end_time } = held(picture) ?? {};
  return start_time && end_time ? (Date.parse(end_time) - Date.parse(start_time)) / 1000 : 0;
}

const MOST_MARKS = 120;

function timelineOf(all: readonly SnapshotRow[], nowMs: number): Dashboard['timeline'] {
  const snapshots = all.slice(-MOST_MARKS);
  const times = snapshots.map(({ time }) => Date.parse(time));
  const first = Math.min(...times);
  const span = Math.max(Math.max(...times) - first, 1);
  const biggest = Math.max(...snapshots.map(({ stored_bytes }) => stored_bytes), 1);
  const marks = snapshots.map((snapshot, index) => ({
    x: snapshots.length === 1 ? 0.5 : ((times[index] ?? first) - first) / span,
    // The root keeps an increment of some kilobytes visible beside a full one of gigabytes.
    height: Math.max(Math.sqrt(snapshot.stored_bytes / biggest), 0.04),
    tint: snapshot.damaged === null ? ('good' as const) : ('bad' as const),
    isFull: snapshot.kind === 'full',
    label: markLabel(snapshot, nowMs),
  }));
  const ends = [snapshots.at(0), snapshots.at(-1)].map((one) =>
    one ? moment(one.time, nowMs) : '',
  );
  const days = daysBetween(first, first + span);
  const legend = timelineLegend(snapshots);
  return { marks, from: ends[0] ?? '', to: ends[1] ?? '', days, legend };
}

const MOST_DAYS = 10;

/** The midnights between two moments, by the user's own clock; none when they would not fit. */
function daysBetween(fromMs: number, toMs: number): Day[] {
  const days: Day[] = [];
  const midnight = new Date(fromMs);
  midnight.setHours(24, 0, 0, 0);
  for (; midnight.getTime() < toMs; midnight.setDate(midnight.getDate() + 1)) {
    if (days.length === MOST_DAYS) return [];
    const label = midnight.toLocaleDateString('en-GB', { weekday: 'short' });
    days.push({ x: (midnight.getTime() - fromMs) / (toMs - fromMs), label });
  }
  return days;
}

/** Explains what there is to see, and nothing else. */
function timelineLegend(snapshots: readonly SnapshotRow[]): string {
  const words = [
    'The higher, the more was stored.',
    'Filled: everything; outlined: only what changed.',
  ];
  if (snapshots.some(({ damaged }) => damaged !== null)) words.push('Dashed: damaged.');
  return words.join(' ');
}

function markLabel(snapshot: SnapshotRow, nowMs: number): string {
  const words = [moment(snapshot.time, nowMs), `${size(snapshot.stored_bytes)} stored`];
  words.push(`${counted(snapshot.files, 'file')} in all`, `from ${plain(snapshot.node)}`);
  if (snapshot.message !== '') words.push(messageOf(snapshot));
  if (snapshot.damaged !== null) words.push(`damaged: ${plain(snapshot.damaged)}`);
  return words.join(' · ');
}

function snapshotsText(snapshots: readonly SnapshotRow[], { status }: Picture): string {
  // A fork beside the newest one is another node's copy.
  const last = snapshots.filter(({ beside }) => beside !== true).at(-1) ?? snapshots.at(-1);
  if (!last)
    return status?.workspace.exists === true
      ? 'No snapshot yet. Run Backup takes the first one.'
      : 'No snapshot yet. Once there is a workspace, every backup makes one.';
  const stored = snapshots.reduce((sum, { stored_bytes }) => sum + stored_bytes, 0);
  const holds = `${counted(last.files, 'file')} (${size(last.bytes)})`;
  return `${counted(snapshots.length, 'snapshot')}, ${size(stored)} in all. The last one holds ${holds}.`;
}

function cellOf(node: NodeRow): Cell {
  // What is scarcest decides whether there is room.
  const [scarcest, ...others] = partsOf(node).sort((left, right) => left.free - right.free);
  const isWarm = node.warm !== null;
  const text = node.available ? (scarcest?.text ?? '') : plain(node.state);
  const more = node.available ? others.map((one) => one.text).join(', ') : '';
  const free = scarcest?.free ?? 0;
  const name = plain(node.name);
  const label = `${name}: ${freeText(node)}${isWarm ? ', warm' : ''}`;
  return { name, text, more, free, isAvailable: node.available, isWarm, label };
}

function nodesText(nodes: readonly NodeRow[]): string {
  if (nodes.length === 0) return 'No nodes are known.';
  const free = nodes.filter((node) => node.available && node.cpus_free > 0).length;
  const warm = nodes.filter((node) => node.warm !== null).length;
  return `${free} of ${counted(nodes.length, 'node')} with something free, ${warm} warm.`;
}

function nodesLegend(nodes: readonly NodeRow[]): string {
  const words = ['A box is as full as its first number says: what is free of what is scarcest.'];
  if (nodes.some(({ available }) => !available)) words.push('Dashed: not available now.');
  if (nodes.some(({ warm }) => warm !== null))
    words.push('Warm: still holds a copy of your workspace.');
  return words.join(' ');
}
