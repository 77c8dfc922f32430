import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { install, installedCli, type RunProgram } from '../../src/cli/install';
import { problemOf } from '../../src/cli/problem';

function lab(fails: (line: string) => boolean = () => false) {
  const root = mkdtempSync(join(tmpdir(), 'install-'));
  const wheelDirectory = join(root, 'wheel');
  const storage = join(root, 'storage');
  mkdirSync(wheelDirectory);
  writeFileSync(join(wheelDirectory, 'scratchflow-0.1.0-py3-none-any.whl'), '');
  const ran: string[] = [];
  const run: RunProgram = (file, args) => {
    const line = [file, ...args].join(' ').replaceAll(root, '');
    ran.push(line);
    if (args.includes('venv')) mkdirSync(args.at(-1) ?? '', { recursive: true });
    return fails(line) ? Promise.reject(new Error(`noise\n${file} failed`)) : Promise.resolve('');
  };
  return { ran, storage, wheelDirectory, run, say: () => undefined };
}

const noUv = (line: string) => line.startsWith('uv');

test('with Python alone: venv, then pip, then a try', async () => {
  const it = lab(noUv);
  const cli = await install(it, '0.1.0');
  expect(it.ran.slice(2)).toEqual([
    'python3 -m venv /storage/cli-0.1.0',
    '/storage/cli-0.1.0/bin/python -m pip install --quiet --disable-pip-version-check /wheel/scratchflow-0.1.0-py3-none-any.whl',
    '/storage/cli-0.1.0/bin/scratchflow --version',
  ]);
  expect(installedCli(it.storage, '0.1.0')).toBe(cli);
});

test('with uv: uv does it', async () => {
  const it = lab();
  await install(it, '0.1.0');
  expect(it.ran[1]).toBe('uv venv --quiet --python >=3.10 /storage/cli-0.1.0');
  expect(it.ran[2]).toMatch(/^uv pip install /);
});

test('an old python3 is passed over for a newer one', async () => {
  const it = lab(
    (line) => noUv(line) || line.startsWith('python3 ') || line.startsWith('python3.14'),
  );
  await install(it, '0.1.0');
  expect(it.ran).toContain('python3.13 -m venv /storage/cli-0.1.0');
});

test('without a Python the user is told to install one', async () => {
  const it = lab(() => true);
  const problem = await install(it, '0.1.0').then(() => undefined, problemOf);
  expect(problem?.message).toContain('no Python 3.10 or newer');
});

test('an unfinished installation does not count, and the next one starts anew', async () => {
  const it = lab((line) => noUv(line) || line.includes('pip install'));
  const problem = await install(it, '0.1.0').then(() => undefined, problemOf);
  expect(problem?.message).toContain('failed');
  expect(installedCli(it.storage, '0.1.0')).toBe('');
  await install({ ...it, run: lab(noUv).run }, '0.1.0').catch(() => undefined);
});

test('the venv of an earlier version goes when the new one works', async () => {
  const it = lab(noUv);
  mkdirSync(join(it.storage, 'cli-0.0.9'), { recursive: true });
  await install(it, '0.1.0');
  expect(existsSync(join(it.storage, 'cli-0.0.9'))).toBe(false);
});
