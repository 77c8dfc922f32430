// The user's settings as arguments of the CLI. Reads the user's own values only, never a workspace's.

import { plain } from './format/words';

export type Read = (key: string) => unknown;

const SLURM = ['partition', 'account', 'time', 'cpus_per_task', 'mem', 'gpus', 'qos', 'constraint'];

/** What every command gets; a window's own profile goes before the setting. */
export function globalArgs(read: Read, ofWindow?: unknown): string[] {
  const profile = text(ofWindow) || text(read('profile'));
  return profile === '' ? [] : ['--profile', profile];
}

/** What the user wants of Slurm, over what the profile says. */
export function slurmArgs(read: Read): string[] {
  return SLURM.map((key) => [key, text(read(`slurm.${camel(key)}`))] as const)
    .filter(([, value]) => value !== '' && value !== '0')
    .flatMap(([key, value]) => ['--set', `slurm.${key}=${value}`]);
}

/** How often a snapshot is to be taken, over what the profile says. */
export function backupArgs(read: Read): string[] {
  const every = text(read('backup.every'));
  return every === '' ? [] : ['--set', `backup.every=${every}`];
}

function camel(key: string): string {
  return key.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

export function text(value: unknown): string {
  if (typeof value === 'string') return plain(value);
  return typeof value === 'number' ? String(value) : '';
}
