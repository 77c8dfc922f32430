import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { install, isInUse } from '../../src/flows/install';
import { lab } from './lab';

const QUESTION = 'scratchflow is installed, but the setting scratchflow.cliPath still names /old';
const BUTTON = 'Use the Installed One';

test('what was installed is in use unless a setting names another program', async () => {
  const { editor } = lab({});
  expect(await isInUse(editor)).toBe(true);
  editor.settings.set('cliPath', '/old');
  expect(await isInUse(editor)).toBe(false);
  expect(editor.seen).toEqual([`warning: ${QUESTION}. | ${BUTTON}`]);
});

test('the setting is emptied when the user wants that', async () => {
  const { editor } = lab({}, { [QUESTION]: BUTTON });
  editor.settings.set('cliPath', '/old');
  expect(await isInUse(editor)).toBe(true);
  expect(editor.setting('cliPath')).toBeUndefined();
});

test('a cancelled installation is told as that, and not as one that failed', async () => {
  const { context, editor } = lab({});
  editor.abort.abort();
  const directory = await mkdtemp(join(tmpdir(), 'install-'));
  await writeFile(join(directory, 'scratchflow.whl'), '');
  const places = { wheelDirectory: directory, storage: join(directory, 'storage'), log: () => {} };
  await expect(install(context, places)).rejects.toMatchObject({
    problem: { code: 'cli.cancelled', message: 'Cancelled: scratchflow is not installed.' },
  });
});
