// The menu behind the status bar: what makes sense now comes first, all else is left to the palette.

import { NEEDS_ANOTHER_CLI, needsLogin } from '../cli/problem';
import { hasOtherProfiles, isHere, phaseOf, type Picture } from '../state/state';
import { OFFERS } from '../verbs';
import type { Context } from './context';

/** How a command looks in the menu, and what it does in a newcomer's words. */
const ENTRIES: Record<string, readonly [icon: string, about: string]> = {
  switchProfile: ['account', 'another cluster, for this window alone'],
  setup: ['server-environment', 'tell scratchflow about a cluster'],
  up: ['rocket', 'a node, your workspace on it, and backups, in one go'],
  allocate: ['server-process', 'take a node'],
  autobackup: ['sync', 'turn it on or off'],
  hop: ['arrow-swap', 'the workspace comes along'],
  create: ['new-folder', 'an empty one, the first time'],
  restore: ['cloud-download', 'bring back what the last snapshot holds'],
  backup: ['cloud-upload', 'store what changed'],
  clear: ['debug-disconnect', 'a last backup, then the node goes back'],
  withdraw: ['close', 'the request leaves Slurm’s queue'],
  open: ['remote-explorer', 'work in its folder'],
  status: ['dashboard', 'the dashboard'],
  nodes: ['server', 'what is free'],
  attach: ['terminal-tmux', 'the terminal that holds the node'],
  shell: ['terminal', 'a terminal on the node, in your workspace'],
  tensorboard: ['graph-line', 'of logs in the workspace, in your browser'],
  jupyter: ['notebook', 'JupyterLab on the node, in your browser'],
  tunnel: ['plug', 'a port of this machine that leads to the node'],
  snapshots: ['history', 'earlier versions of your files'],
  login: ['key', 'in a terminal, with password or second factor'],
  doctor: ['pulse', 'check everything, and say what mends it'],
  config: ['settings-gear', 'profiles and defaults, in a file'],
  install: ['desktop-download', 'the program that does the work'],
  log: ['output', 'what was run, and what it said'],
};

/** The names of the commands that make sense now, the likeliest first. */
export function namesFor(picture: Picture): string[] {
  if (picture.link.is === 'stopped' && NEEDS_ANOTHER_CLI.has(picture.link.problem.code)) {
    return ['install', 'log'];
  }
  if (picture.link.is === 'stopped' && needsLogin(picture.link.problem)) {
    return ['login', 'doctor', 'config', 'log'];
  }
  const nodes = isHere(picture) ? [] : ['nodes'];
  const always = ['snapshots', ...nodes, 'doctor', 'config', 'log'];
  if (phaseOf(picture) === 'held') {
    return [
      'open',
      'backup',
      'autobackup',
      'restore',
      'status',
      'hop',
      'shell',
      'tensorboard',
      'jupyter',
      'tunnel',
      'attach',
      'clear',
      ...always,
    ];
  }
  if (phaseOf(picture) === 'waiting') return ['withdraw', 'up', 'status', ...always];
  if (isHere(picture)) {
    const elsewhere = hasOtherProfiles(picture) ? ['switchProfile'] : [];
    return ['backup', 'restore', 'create', 'open', 'status', ...elsewhere, 'setup', ...always];
  }
  return ['up', 'allocate', 'status', 'setup', ...always];
}

export async function menu({ editor, store }: Context): Promise<void> {
  const choices = namesFor(store.picture).flatMap((name) =>
    OFFERS.filter(({ command }) => command === `scratchflow.${name}`).map(({ command, title }) => ({
      label: `$(${ENTRIES[name]?.[0] ?? 'circle-small'}) ${title}`,
      value: command,
      description: ENTRIES[name]?.[1] ?? '',
    })),
  );
  const chosen = await editor.pick(Promise.resolve(choices), {
    title: 'scratchflow',
    placeholder: 'What would you like to do?',
  });
  if (chosen !== undefined) await editor.execute(chosen);
}
