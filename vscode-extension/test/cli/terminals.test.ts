import { mkdtempSync, readlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { linkDirectory, offerInTerminals, type Terminals } from '../../src/cli/terminals';

class FakeTerminals implements Terminals {
  description: unknown;
  persistent = true;
  readonly variables = new Map<string, string>();

  append = (variable: string, value: string) => void this.variables.set(variable, value);
  replace = (variable: string, value: string) => void this.variables.set(variable, value);
  delete = (variable: string) => void this.variables.delete(variable);

  get path(): string | undefined {
    return this.variables.get('PATH');
  }

  get profile(): string | undefined {
    return this.variables.get('SCRATCHFLOW_PROFILE');
  }
}

function lab() {
  const storage = mkdtempSync(join(tmpdir(), 'terminals-'));
  const terminals = new FakeTerminals();
  const offer = (program: string | undefined, isOnPath = false, profile = () => '') =>
    offerInTerminals(terminals, storage, {
      locate: () => (program ? Promise.resolve(program) : Promise.reject(new Error('none'))),
      isOnPath: () => Promise.resolve(isOnPath),
      profile,
    });
  const link = () => readlinkSync(join(linkDirectory(storage), 'scratchflow'));
  return { storage, terminals, offer, link };
}

test('terminals find the installed program at the end of their PATH', async () => {
  const { storage, terminals, offer, link } = lab();
  await offer('/venv/bin/scratchflow');
  expect(terminals.path).toBe(`:${linkDirectory(storage)}`);
  expect(terminals.description).toContain('scratchflow');
  expect(link()).toBe('/venv/bin/scratchflow');
});

test('a program that was installed anew is the one that they find', async () => {
  const { offer, link } = lab();
  await offer('/old/scratchflow');
  await offer('/new/scratchflow');
  await offer('/new/scratchflow');
  expect(link()).toBe('/new/scratchflow');
});

test.each([
  ['they find one by themselves', '/usr/bin/scratchflow', true],
  ['there is none', undefined, false],
])('their PATH is left alone when %s', async (_, program, isOnPath) => {
  const { terminals, offer } = lab();
  await offer('/venv/bin/scratchflow');
  await offer(program, isOnPath);
  expect(terminals.path).toBeUndefined();
});

test.each([true, false])(
  'they have the profile of the window (a program on PATH: %s)',
  async (is) => {
    const { terminals, offer } = lab();
    await offer('/venv/bin/scratchflow', is, () => 'local');
    expect(terminals.profile).toBe('local');
    expect(terminals.description).toContain('SCRATCHFLOW_PROFILE');
    // The window of the folder may have another profile when it is opened the next time.
    expect(terminals.persistent).toBe(false);
  },
);

test('after a switch they have the new profile, or none of ours', async () => {
  const { terminals, offer } = lab();
  await offer('/venv/bin/scratchflow', false, () => 'local');
  await offer('/venv/bin/scratchflow', false, () => 'login');
  expect(terminals.profile).toBe('login');
  await offer('/venv/bin/scratchflow', false);
  expect(terminals.profile).toBeUndefined();
  expect(terminals.path).toBeDefined();
  expect(terminals.persistent).toBe(true);
});

test('a switch while the program is looked for is not undone', async () => {
  const { terminals, offer } = lab();
  let profile = 'local';
  const [first, second] = [
    offer('/a/scratchflow', false, () => profile),
    offer('/a/scratchflow', true, () => profile),
  ];
  profile = 'login';
  await Promise.all([first, second]);
  expect(terminals.profile).toBe('login');
});
