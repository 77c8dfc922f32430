import { expect, test } from 'vitest';
import { changesFor, offerOnce, tune } from '../../src/flows/remoteSsh';
import { NO_NODE, WITH_NODE } from '../pictures';
import { lab } from './lab';

const none = () => undefined;

test('tunes what the alias needs, and leaves the server in the home', () => {
  const changes = Object.fromEntries(
    changesFor(WITH_NODE, none).map(({ key, value }) => [key, value]),
  );
  expect(changes['remote.SSH.remotePlatform']).toEqual({ compile_machine: 'linux' });
  expect(changes).not.toHaveProperty(['remote.SSH.serverInstallPath']);
  expect(changes['remote.SSH.connectTimeout']).toBe(60);
  expect(changes['files.watcherExclude']).toHaveProperty(['**/build/**'], true);
});

test('keeps what the user has', () => {
  const settings: Record<string, unknown> = {
    'remote.SSH.remotePlatform': { other: 'macOS' },
    'remote.SSH.serverInstallPath': { compile_machine: '/mine' },
    'remote.SSH.connectTimeout': 300,
    'files.watcherExclude': { '**/build/**': false },
  };
  const changes = changesFor(WITH_NODE, (key) => settings[key]);
  const values = Object.fromEntries(changes.map(({ key, value }) => [key, value]));
  expect(values['remote.SSH.remotePlatform']).toEqual({ other: 'macOS', compile_machine: 'linux' });
  expect(values['files.watcherExclude']).toHaveProperty(['**/build/**'], false);
  expect(Object.keys(values)).toHaveLength(2);
});

test('takes a server off scratch, where each new node would have to install it', () => {
  const places = { compile_machine: '/scratch/alice', other: '/elsewhere' };
  const settings: Record<string, unknown> = { 'remote.SSH.serverInstallPath': places };
  const changes = changesFor(WITH_NODE, (key) => settings[key]);
  const [change] = changes.filter(({ key }) => key === 'remote.SSH.serverInstallPath');
  expect(change?.value).toEqual({ other: '/elsewhere' });
  expect(change?.why).toContain('home');
});

test('nothing to tune without an alias', () => {
  expect(changesFor({ ...WITH_NODE, alias: null }, none)).toEqual([]);
});

test('is offered once, explained, and done only after a yes', async () => {
  const answers = { 'A few settings': 'Show Settings', 'Change these': true };
  const { context, editor } = lab({}, answers, WITH_NODE);
  await offerOnce(context);
  expect(editor.seen.filter((line) => line.startsWith('setting: /'))).toHaveLength(3);
  const seen = editor.seen.length;
  await offerOnce(context);
  expect(editor.seen).toHaveLength(seen);
});

test('is not offered where Remote-SSH is not', async () => {
  const { context, editor } = lab({}, {}, WITH_NODE);
  editor.remoteSsh = false;
  await offerOnce(context);
  expect(editor.seen).toEqual([]);
  await tune(context);
  expect(editor.seen[0]).toContain('not installed');
});

test('without a yes nothing changes', async () => {
  const { context, editor } = lab({}, {}, NO_NODE);
  await tune(context);
  expect(editor.settings.size).toBe(0);
});
