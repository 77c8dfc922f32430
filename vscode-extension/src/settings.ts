// The user's settings as arguments of the CLI, and back. Reads the user's own values only, never a workspace's.

import type { Problem } from './cli/problem';
import { plain } from './format/words';

export type Read = (key: string) => unknown;

const SLURM = ['partition', 'account', 'time', 'cpus_per_task', 'mem', 'gpus', 'qos', 'constraint'];

/** The profile of a window: its own goes before the setting; empty for the default one of the configuration. */
export function profileOf(read: Read, ofWindow?: unknown): string {
  return text(ofWindow) || text(read('profile'));
}

/** What every command gets. */
export function globalArgs(read: Read, ofWindow?: unknown): string[] {
  const profile = profileOf(read, ofWindow);
  return profile === '' ? [] : ['--profile', profile];
}

/** What the user wants of Slurm, over what the profile says. */
export function slurmArgs(read: Read): string[] {
  return SLURM.map((key) => [key, text(read(`slurm.${camel(key)}`))] as const)
    .filter(([, value]) => value !== '' && value !== '0')
    .flatMap(([key, value]) => ['--set', `slurm.${key}=${value}`]);
}

/** The same for reading, beside what the profile asks for: `time=20m by the settings`; empty without any. */
export function slurmText(read: Read): string {
  const set = slurmArgs(read).filter((word) => word !== '--set');
  const words = set.map((word) => word.replace('slurm.', ''));
  return words.length === 0 ? '' : `${words.join(' ')} by the settings`;
}

/** How often a snapshot is to be taken, over what the profile says. */
export function backupArgs(read: Read): string[] {
  const every = text(read('backup.every'));
  return every === '' ? [] : ['--set', `backup.every=${every}`];
}

// How the CLI names what it was given by `--set`: in a refusal of the value, and in one of the whole request.
const VALUE = /`((?:slurm|backup)\.\w+)` \(--set\)/;
const IN_REQUEST = /`--set ((?:slurm|backup)\.\w+)=([^`]*)`/g;
// What a flag would say is the value of a setting.
const FITS = /(`--set [^`]+` to )`--[\w-]+ ([^`]+)`/;

/** The setting that a problem is about, if any: nobody else than the settings gives the CLI a `--set`. */
export function settingOf({ message, hint }: Problem): string | undefined {
  const key = VALUE.exec(message)?.[1] ?? [...`${message} ${hint}`.matchAll(IN_REQUEST)][0]?.[1];
  return key === undefined ? undefined : settingName(key);
}

/** The same problem with the names of settings, as the user knows them, and with the value that was found. */
export function inSettings(problem: Problem, read: Read): Problem {
  if (settingOf(problem) === undefined) return problem;
  const ours = (key: string) => `the setting \`${settingName(key)}\``;
  const message = problem.message
    .replace(VALUE, (_, key: string) => `${ours(key)} (${text(read(camel(key)))})`)
    .replace(IN_REQUEST, (_, key: string, value: string) => `${ours(key)} (${value})`);
  const hint = problem.hint
    .replace('give `--set` another value', 'give the setting another value')
    .replace(FITS, '$1`$2`')
    .replace(IN_REQUEST, (_, key: string) => ours(key));
  return { ...problem, message, hint };
}

function settingName(key: string): string {
  return `scratchflow.${camel(key)}`;
}

function camel(key: string): string {
  return key.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

export function text(value: unknown): string {
  if (typeof value === 'string') return plain(value);
  return typeof value === 'number' ? String(value) : '';
}
