// What the status bar says: node, time left, age of the last snapshot. Pure.

import { SHORT_S } from '../state/deadline';
import { NEEDS_ANOTHER_CLI, needsLogin, type Problem } from '../cli/problem';
import {
  held,
  hasOtherProfiles,
  isHere,
  isSavedLate,
  savedAge,
  phaseOf,
  secondsLeft,
  staleSince,
} from '../state/state';
import type { Link, Picture } from '../state/state';
import { problemText } from '../format/problemText';
import { ago, askingText, capital, duration, moment, plain } from '../format/words';

export interface Bar {
  readonly text: string;
  readonly tooltip: string;
  readonly alarm: 'none' | 'warning' | 'error';
}

const CLICK = 'Click for what you can do.';

export function statusBar(picture: Picture, nowMs: number): Bar {
  const bar = troubleBar(picture) ?? phaseBar(picture, nowMs);
  const since = staleSince(picture);
  if (since === undefined) return bar;
  const when = moment(new Date(since).toISOString(), nowMs);
  const tooltip = `As of ${when}: nobody has looked since. ${linkText(picture.link)} ${bar.tooltip}`;
  // Trouble says so itself, and shows nothing that could be taken for news.
  const text = picture.link.is === 'stopped' ? bar.text : `${bar.text} · as of ${when}`;
  return { ...bar, text, tooltip };
}

function phaseBar(picture: Picture, nowMs: number): Bar {
  switch (phaseOf(picture)) {
    case 'unknown':
      return unknownBar(picture);
    case 'none':
      return noneBar(picture, nowMs);
    case 'waiting':
      return {
        text: `$(sync~spin) ${ofProfile(picture)}waiting for a node`,
        tooltip: `${waitingFor(picture)} Click to withdraw the request.`,
        alarm: 'none',
      };
    case 'ending':
      return calm('$(sync~spin) node is going back', 'The allocation is ending.');
    case 'held':
      return heldBar(picture, nowMs);
  }
}

function unknownBar({ asking }: Picture): Bar {
  if (asking === undefined) return calm('$(sync~spin) scratchflow', 'Asking the cluster…');
  const words = askingText(asking);
  return calm(`$(sync~spin) ${words}`, capital(words));
}

function calm(text: string, tooltip: string): Bar {
  return { text, tooltip: `${tooltip} ${CLICK}`, alarm: 'none' };
}

/** Without any picture the trouble is all there is to say; with one, the tooltip tells of it. */
function troubleBar({ link, status }: Picture): Bar | undefined {
  if (link.is !== 'stopped' && (link.is !== 'waiting' || status)) return undefined;
  const text = troubleText(link.problem);
  return { text, tooltip: `${problemText(link.problem)} ${CLICK}`, alarm: 'warning' };
}

function troubleText(problem: Problem): string {
  if (needsLogin(problem)) return '$(key) scratchflow: log in';
  return NEEDS_ANOTHER_CLI.has(problem.code)
    ? '$(desktop-download) scratchflow: install'
    : '$(warning) scratchflow: not connected';
}

/** Without a cluster the workspace is on this machine, and its backups matter all the same. */
function noneBar(picture: Picture, nowMs: number): Bar {
  if (!isHere(picture)) {
    const text = `$(circle-slash) ${ofProfile(picture)}no node`;
    return calm(text, 'You have no compute node.');
  }
  const words = `this machine · ${backupText(picture, nowMs)}`;
  if (!hasOtherProfiles(picture))
    return calm(
      `$(vm) ${words}`,
      'The workspace is on this machine; Set Up Cluster adds a cluster.',
    );
  const profile = plain(picture.status?.profile ?? '');
  return calm(
    `$(vm) ${profile} · ${words}`,
    `This window has the profile ${profile}: the workspace is on this machine.`,
  );
}

/** Whose node it is, for people with several clusters: another one may have a node where this has none. */
function ofProfile({ status }: Picture): string {
  return status && (status.profiles ?? 0) > 1 ? `${plain(status.profile)} · ` : '';
}

function backupText(picture: Picture, nowMs: number): string {
  const running = picture.status?.running;
  if (running) return `${plain(running.doing)} is running`;
  const age = savedAge(picture, nowMs);
  return age === undefined ? 'no backup yet' : `backup ${ago(age)}`;
}

function waitingFor(picture: Picture): string {
  const reason = picture.request?.reason ?? picture.status?.allocation?.reason;
  return reason ? `In Slurm’s queue: ${plain(reason)}.` : 'In Slurm’s queue.';
}

function heldBar(picture: Picture, nowMs: number): Bar {
  const left = secondsLeft(picture, nowMs);
  const isShort = left !== undefined && left < SHORT_S;
  const isLate = isSavedLate(picture);
  const words = [plain(held(picture)?.node ?? 'node')];
  if (left !== undefined) words.push(`${duration(left)} left`);
  words.push(backupText(picture, nowMs));
  return {
    text: `$(server-process) ${ofProfile(picture)}${words.join(' · ')}`,
    tooltip: [...reasons(isShort, isLate), CLICK].filter(Boolean).join(' '),
    alarm: isShort ? 'error' : isLate ? 'warning' : 'none',
  };
}

function reasons(isShort: boolean, isLate: boolean): string[] {
  return [
    isShort ? 'The allocation ends soon: back up, and move on.' : 'Your compute node.',
    isLate ? 'Changes are not saved as often as they should be.' : '',
  ];
}

function linkText(link: Link): string {
  if (link.is === 'paused') return 'Not looked at while the window was in the background.';
  if (link.is === 'waiting')
    return `The connection was lost; it is tried again. ${problemText(link.problem)}`;
  return '';
}
