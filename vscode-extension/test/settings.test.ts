import { expect, test } from 'vitest';
import { globalArgs, slurmArgs } from '../src/settings';

const reading = (settings: Record<string, unknown>) => (key: string) => settings[key];

test('an empty profile leaves the choice to the CLI', () => {
  expect(globalArgs(reading({ profile: ' ' }))).toEqual([]);
  expect(globalArgs(reading({ profile: 'aws' }))).toEqual(['--profile', 'aws']);
});

test('a window’s own profile goes before the setting', () => {
  expect(globalArgs(reading({ profile: 'aws' }), 'azure')).toEqual(['--profile', 'azure']);
  expect(globalArgs(reading({ profile: 'aws' }), undefined)).toEqual(['--profile', 'aws']);
});

test('only what the user set overrides the profile', () => {
  const settings = {
    'slurm.partition': 'gpu',
    'slurm.gpus': 2,
    'slurm.cpusPerTask': 0,
    'slurm.mem': '',
  };
  expect(slurmArgs(reading(settings))).toEqual([
    '--set',
    'slurm.partition=gpu',
    '--set',
    'slurm.gpus=2',
  ]);
  expect(slurmArgs(reading({ 'slurm.cpusPerTask': 8 }))).toEqual([
    '--set',
    'slurm.cpus_per_task=8',
  ]);
});
