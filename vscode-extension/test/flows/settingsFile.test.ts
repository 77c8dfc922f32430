import { expect, test } from 'vitest';
import { openSettings } from '../../src/flows/settingsFile';
import { answering, playing } from '../fakeCli';
import { lab } from './lab';

test('Open Settings opens the file, or leads to the set-up when there is none', async () => {
  const there = lab({ 'config path': answering({ path: '/c/config.toml', exists: true }) });
  await openSettings(there.context);
  expect(there.editor.seen).toEqual(['file: /c/config.toml']);
  const none = lab(
    { 'config path': playing('config-path') },
    { 'There are no settings': 'Set Up Cluster' },
  );
  await openSettings(none.context);
  expect(none.editor.seen.at(-1)).toBe('command: scratchflow.setup');
});
