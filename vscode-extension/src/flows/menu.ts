// The menu behind the status bar: what makes sense now comes first, all else is left to the palette.

import { NEEDS_ANOTHER_CLI } from '../problem';
import { isHere, phaseOf, type Picture } from '../state';
import { OFFERS } from '../verbs';
import type { Context } from './context';

const ICONS: Record<string, string> = {
  setup: 'server-environment',
  up: 'rocket',
  allocate: 'server-process',
  autobackup: 'sync',
  hop: 'arrow-swap',
  create: 'new-folder',
  restore: 'cloud-download',
  backup: 'cloud-upload',
  clear: 'debug-disconnect',
  open: 'remote-explorer',
  status: 'dashboard',
  nodes: 'server',
  attach: 'terminal-tmux',
  snapshots: 'history',
  doctor: 'pulse',
  config: 'settings-gear',
  install: 'desktop-download',
  log: 'output',
};

/** The names of the commands that make sense now, the likeliest first. */
export function namesFor(picture: Picture): string[] {
  if (picture.link.is === 'stopped' && NEEDS_ANOTHER_CLI.has(picture.link.problem.code)) {
    return ['install', 'log'];
  }
  const always = ['snapshots', 'nodes', 'doctor', 'config', 'log'];
  if (phaseOf(picture) === 'held') {
    return [
      'open',
      'backup',
      'autobackup',
      'restore',
      'status',
      'hop',
      'attach',
      'clear',
      ...always,
    ];
  }
  if (isHere(picture)) return ['backup', 'restore', 'create', 'open', 'status', 'setup', ...always];
  return ['up', 'allocate', 'status', 'setup', ...always];
}

export async function menu({ editor, store }: Context): Promise<void> {
  const choices = namesFor(store.picture).flatMap((name) =>
    OFFERS.filter(({ command }) => command === `scratchflow.${name}`).map(({ command, title }) => ({
      label: `$(${ICONS[name] ?? 'circle-small'}) ${title}`,
      value: command,
    })),
  );
  const chosen = await editor.pick(Promise.resolve(choices), {
    title: 'scratchflow',
    placeholder: 'What would you like to do?',
  });
  if (chosen !== undefined) await editor.execute(chosen);
}
