import { expect, test } from 'vitest';
import { isInUse } from '../../src/flows/install';
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
