import { mkdtempSync, readlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { linkDirectory, offerInTerminals, type Terminals } from '../../src/cli/terminalPath';

class FakeTerminals implements Terminals {
  description: unknown;
  path: string | undefined;

  append(_variable: string, value: string): void {
    this.path = value;
  }

  clear(): void {
    this.path = undefined;
  }
}

function lab() {
  const storage = mkdtempSync(join(tmpdir(), 'terminals-'));
  const terminals = new FakeTerminals();
  const offer = (program: string | undefined, isOnPath = false) =>
    offerInTerminals(terminals, storage, {
      locate: () => (program ? Promise.resolve(program) : Promise.reject(new Error('none'))),
      isOnPath: () => Promise.resolve(isOnPath),
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
