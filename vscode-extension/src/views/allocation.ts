// The rows of the view Allocation. Pure.

import { SHORT_S } from '../state/deadline';
import { stateText } from '../format/progressText';
import { problemText } from '../format/problemText';
import type {
  AllocationShown,
  AutobackupShown,
  CopyShown,
  Problem as StatusProblem,
  StatusShown,
  WorkspaceShown,
} from '../cli/protocol';
import { actionOf } from '../hint';
import {
  hasOtherProfiles,
  held,
  isHere,
  isSavedLate,
  savedAge,
  phaseOf,
  secondsLeft,
  staleSince,
  type Picture,
} from '../state/state';
import { ago, askingText, capital, clock, duration, moment, plain } from '../format/words';
import type { Row } from './row';

/** Empty when there is nothing to tell: then the view shows its welcome with the next step. */
export function allocationRows(picture: Picture, nowMs: number): Row[] {
  switch (phaseOf(picture)) {
    case 'waiting':
      return [...linkRows(picture, nowMs), ...waitingRows(picture)];
    case 'ending':
      return [{ label: 'Node', description: 'going back', icon: 'sync~spin' }];
    case 'held':
      return [...linkRows(picture, nowMs), ...heldRows(picture, nowMs)];
    case 'none':
      return [...linkRows(picture, nowMs), ...noneRows(picture, nowMs)];
    case 'unknown':
      return picture.link.is === 'waiting' ? linkRows(picture, nowMs) : askingRows(picture);
  }
}

/** After a switch to another profile; what else there is to say before the first answer, the welcome says. */
function askingRows({ asking, link }: Picture): Row[] {
  if (asking === undefined || link.is === 'stopped') return [];
  return [{ label: capital(askingText(asking)), icon: 'sync~spin' }];
}

/** When the watch does not run, how old the rows beneath are. */
function linkRows(picture: Picture, nowMs: number): Row[] {
  const { link } = picture;
  if (link.is === 'watching' || link.is === 'starting') return [];
  const since = staleSince(picture);
  const asOf = since === undefined ? '' : `as of ${moment(new Date(since).toISOString(), nowMs)}`;
  const row = { description: asOf, icon: 'debug-disconnect', command: 'scratchflow.refresh' };
  if (link.is === 'paused')
    return [{ ...row, label: 'Not looked at', tooltip: 'This window was in the background.' }];
  const label = link.is === 'waiting' ? 'Connection lost' : 'Not connected';
  const again = link.is === 'waiting' ? 'trying again' : '';
  const description = [again, asOf].filter(Boolean).join(', ');
  return [{ ...row, label, description, tooltip: problemText(link.problem), tint: 'warning' }];
}

function waitingRows({ request, status }: Picture): Row[] {
  const { state, reason } = request ?? status?.allocation ?? { state: '', reason: null };
  const words = state === 'asking' ? 'asking Slurm' : stateText({ state }, 0);
  const label = capital(words);
  const tooltip = 'It stays in the queue when you close the window.';
  const rows: Row[] = [{ label, tooltip, icon: 'sync~spin' }];
  if (reason) rows.push({ label: capital(plain(reason)), tooltip: plain(reason), icon: 'info' });
  rows.push({ label: 'Withdraw the request', icon: 'close', command: 'scratchflow.withdraw' });
  return rows;
}

function heldRows(picture: Picture, nowMs: number): Row[] {
  const { status } = picture;
  const allocation = held(picture);
  if (!status || !allocation) return [];
  return [
    nodeRow(allocation, status.alias?.name),
    ...otherNodeRows(allocation.nodes ?? [], status.copies ?? []),
    leftRow(picture, nowMs),
    ...savedRows(picture, status, nowMs),
    ...(status.problems ?? []).map(statusProblemRow),
  ];
}

function noneRows(picture: Picture, nowMs: number): Row[] {
  const { status } = picture;
  if (!status) return [];
  const problems = (status.problems ?? []).map(statusProblemRow);
  return isHere(picture) && status.workspace.exists === true
    ? [placeRow(picture), ...savedRows(picture, status, nowMs), ...problems]
    : problems;
}

/** Without a cluster: which profile that is, or how to get a cluster. */
function placeRow(picture: Picture): Row {
  if (!hasOtherProfiles(picture))
    return {
      label: 'No cluster',
      description: 'click to set one up',
      tooltip: 'The workspace is on this machine. Click for Set Up Cluster',
      icon: 'vm',
      command: 'scratchflow.setup',
    };
  const profile = plain(picture.status?.profile ?? '');
  return {
    label: 'Profile',
    description: `${profile} · on this machine`,
    tooltip: `This window has the profile ${profile}, without a cluster. Click for Switch Profile in This Window`,
    icon: 'vm',
    command: 'scratchflow.switchProfile',
  };
}

/** The workspace, and how it is saved. */
function savedRows(picture: Picture, status: StatusShown, nowMs: number): Row[] {
  return [
    workspaceRow(status.workspace, status.snapshots.count > 0),
    snapshotRow(picture, nowMs),
    ...runningRows(status, nowMs),
    ...autobackupRows(status, nowMs),
  ];
}

function nodeRow({ node, job_id: job, partition }: AllocationShown, alias?: string): Row {
  const place = `Job ${job ?? '?'} in partition ${plain(partition)}`;
  const ssh = alias === undefined ? '' : `ssh ${plain(alias)}`;
  return {
    label: 'Node',
    description: [plain(node ?? ''), ssh].filter(Boolean).join(' · '),
    icon: 'server-process',
    tooltip: ssh === '' ? place : `${place}\n\`${ssh}\` leads to this node`,
  };
}

/** The further nodes of the job, each with what is known of its copy of the workspace. */
function otherNodeRows(nodes: string[], copies: CopyShown[]): Row[] {
  return nodes.slice(1).map((node, index) => {
    const copy = copies.find((one) => one.node === node);
    const text = copy ? copyText(copy) : '';
    return {
      label: `Node ${index + 2}`,
      description: text ? `${plain(node)}: ${text}` : plain(node),
      icon: 'server',
      ...(copy?.changed || copy?.fork ? { tint: 'warning' as const } : {}),
    };
  });
}

function copyText(copy: CopyShown): string {
  if (copy.exists === false) return 'no workspace there';
  if (typeof copy.changed !== 'number') return 'not looked at';
  if (copy.changed > 0) return `differs: ${copy.changed} ${copy.changed === 1 ? 'file' : 'files'}`;
  if (copy.fork === true) return 'differs, saved as a fork';
  return copy.other_snapshot ? 'another snapshot' : 'the same';
}

/** A problem that `status` reports, with the command that fixes it. */
function statusProblemRow({ detail, fix }: StatusProblem): Row {
  const text = problemText({ code: '', message: detail, hint: fix, retryable: false });
  const action = actionOf(fix);
  const command = action?.kind === 'command' ? { command: action.command } : {};
  return { label: plain(detail), tooltip: text, icon: 'warning', tint: 'warning', ...command };
}

function leftRow(picture: Picture, nowMs: number): Row {
  const left = secondsLeft(picture, nowMs);
  const end = held(picture)?.end_time;
  if (left === undefined) return { label: 'Time left', description: 'no limit', icon: 'watch' };
  return {
    label: 'Time left',
    description: duration(left) + (end ? `, until ${clock(end, nowMs)}` : ''),
    icon: 'watch',
    ...(left < SHORT_S ? { tint: 'bad' as const } : {}),
  };
}

/** Without a snapshot there is nothing to bring. */
function workspaceRow(workspace: WorkspaceShown, hasSnapshots: boolean): Row {
  if (workspace.exists === true) {
    return {
      label: 'Workspace',
      description: plain(workspace.path),
      icon: 'root-folder',
      tooltip: 'Click to open it',
      command: 'scratchflow.open',
    };
  }
  return {
    label: 'Workspace',
    description: 'not on this node yet',
    icon: 'root-folder',
    tint: 'warning',
    ...(hasSnapshots
      ? {
          tooltip: 'Click to bring it here: Initialize Scratch Space',
          command: 'scratchflow.restore',
        }
      : { tooltip: 'Click to make it: Create Workspace', command: 'scratchflow.create' }),
  };
}

function snapshotRow(picture: Picture, nowMs: number): Row {
  const age = savedAge(picture, nowMs);
  return {
    label: 'Last backup',
    description: age === undefined ? 'none yet' : ago(age),
    icon: 'history',
    ...(age === undefined || isSavedLate(picture) ? { tint: 'warning' as const } : {}),
  };
}

/** A command at work, also one of another window or of the auto-backup. */
function runningRows({ running }: StatusShown, nowMs: number): Row[] {
  if (!running) return [];
  const { doing, host, since } = running;
  const description = `on ${plain(host)} since ${moment(since, nowMs)}`;
  const label = `${capital(plain(doing))} is running`;
  return [{ label, description, tooltip: `${label} ${description}`, icon: 'sync~spin' }];
}

/** Whether it runs and when it saves next, and beneath what it could not do. */
function autobackupRows({ autobackup: auto, workspace }: StatusShown, nowMs: number): Row[] {
  const error = plain(auto.last_error ?? '');
  const tooltip = `The last one failed: ${error}`;
  return [
    workspace.exists === false && auto.enabled ? idleRow(auto) : autobackupRow(auto, nowMs),
    ...(error ? [{ label: error, tooltip, icon: 'error', tint: 'bad' as const }] : []),
    ...(auto.enabled && auto.unsaved ? [unsavedRow(auto)] : []),
  ];
}

/** It runs, and there is nothing to save: no time of a next backup is promised. */
function idleRow({ every_s }: AutobackupShown): Row {
  const description = `every ${duration(every_s)}, once there is a workspace`;
  return { label: 'Auto-backup', description, icon: 'watch' };
}

function unsavedRow({ unsaved = 0, unsaved_paths: paths = [] }: AutobackupShown): Row {
  return {
    label: unsavedText(unsaved),
    tooltip: `The last backup could not read: ${paths.map(plain).join(', ')}`,
    icon: 'warning',
    tint: 'bad',
  };
}

/** What the last backup could not read: in the side bar and on the dashboard. */
export function unsavedText(count: number): string {
  return count === 1 ? '1 path is not saved' : `${count} paths are not saved`;
}

function autobackupRow(
  { enabled, every_s, next_time, overdue }: AutobackupShown,
  nowMs: number,
): Row {
  const label = 'Auto-backup';
  const command = 'scratchflow.autobackup';
  if (!enabled)
    return { label, description: 'off, click to turn it on', icon: 'circle-slash', command };
  const every = `every ${duration(every_s)}`;
  if (overdue) {
    const tooltip = 'It gives no sign of life. Click to start it again.';
    return {
      label,
      description: `overdue (${every})`,
      tooltip,
      icon: 'warning',
      tint: 'bad',
      command,
    };
  }
  const description = next_time ? `next ${clock(next_time, nowMs)}, ${every}` : every;
  return { label, description, icon: 'pass', tint: 'good' };
}
