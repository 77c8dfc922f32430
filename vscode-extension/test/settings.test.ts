import { expect, test } from 'vitest';
import { globalArgs, inSettings, settingOf, slurmArgs } from '../src/settings';

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

const saying = (message: string, hint: string) =>
  ({ code: 'x', message, hint, retryable: false }) as const;

test.each([
  [
    saying('`slurm.cpus_per_task` (--set): expected a whole number', 'give `--set` another value'),
    'scratchflow.slurm.cpusPerTask',
    'the setting `scratchflow.slurm.cpusPerTask` (many): expected a whole number',
    'give the setting another value',
  ],
  [
    saying('`--set slurm.time=9h` is more than 4 h', 'change `--set slurm.time=9h` to `--time 4h`'),
    'scratchflow.slurm.time',
    'the setting `scratchflow.slurm.time` (9h) is more than 4 h',
    'change the setting `scratchflow.slurm.time` to `4h`',
  ],
])('a value of a setting that is refused is named as that: %#', (problem, name, message, hint) => {
  expect(settingOf(problem)).toBe(name);
  expect(inSettings(problem, reading({ 'slurm.cpusPerTask': 'many' }))).toMatchObject({
    message,
    hint,
  });
});

test('what is no setting stays as the CLI says it', () => {
  const problem = saying('`--time 9h` is too long', '`scratchflow --set workspace=NAME up`');
  expect(settingOf(problem)).toBeUndefined();
  expect(inSettings(problem, reading({}))).toBe(problem);
});
