import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isOnPath, locate, onPath } from '../../src/cli/locate';
import { problemOf } from '../../src/cli/problem';

const root = mkdtempSync(join(tmpdir(), 'locate-'));

function program(...path: string[]): string {
  const file = join(root, ...path, 'scratchflow');
  mkdirSync(join(root, ...path), { recursive: true });
  writeFileSync(file, '#!/bin/sh\n');
  chmodSync(file, 0o755);
  return file;
}

const places = { setting: '', path: '', folders: [] as string[], own: '' };
const onThePath = program('bin');
const own = program('venv');
const other = program('other');

describe('the CLI is found', () => {
  test('by the setting before PATH before the extension’s own', async () => {
    const all = { ...places, path: join(root, 'bin'), own };
    expect(await locate({ ...all, setting: other })).toBe(other);
    expect(await locate(all)).toBe(onThePath);
    expect(await locate({ ...places, path: join(root, 'none'), own })).toBe(own);
  });

  test('never through a relative entry of PATH, nor inside an open folder', () => {
    const path = ['', '.', 'bin', join(root, 'bin'), '/usr/bin'].join(':');
    expect(onPath({ ...places, path, folders: [root] })).toEqual(['/usr/bin/scratchflow']);
    expect(onPath({ ...places, path: `${root}-other`, folders: [root] })).toHaveLength(1);
  });
});

test('a shell finds what is on PATH, and nothing else', async () => {
  const all = { ...places, setting: other, own };
  expect(await isOnPath({ ...all, path: join(root, 'bin') })).toBe(true);
  expect(await isOnPath({ ...all, path: join(root, 'none') })).toBe(false);
  // Our link to the program is no program of the user's.
  const path = join(root, 'bin');
  expect(await isOnPath({ ...all, path, folders: [path] })).toBe(false);
});

describe('a setting that leads nowhere is said, not passed over', () => {
  test.each([
    'relative/scratchflow',
    '${workspaceFolder}/scratchflow',
    '/no/such/program',
    '~/no-such-program',
  ])('%s', async (setting) => {
    const problem = await locate({ ...places, setting, own }).then(() => undefined, problemOf);
    expect(problem?.code).toBe('cli.missing');
    expect(problem?.message).toContain(setting);
  });

  test('a tilde is the home directory', async () => {
    const error = await locate({ ...places, setting: '~/x' }).then(() => undefined, problemOf);
    expect(error?.message).not.toContain('absolute');
    expect(homedir()).not.toBe('');
  });
});

test('without any, the user is told what to do', async () => {
  const problem = await locate(places).then(() => undefined, problemOf);
  expect(problem?.code).toBe('cli.missing');
  expect(problem?.hint).toContain('install');
});
