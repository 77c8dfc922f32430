import { expect, test } from 'vitest';
import { chooseProfile, switchProfile } from '../../src/flows/profile';
import { answering } from '../fakeCli';
import { WITH_NODE } from '../pictures';
import { lab } from './lab';

const SHOWN = { path: '/c', profile: 'aws', profiles: ['azure', 'aws', 'local'], values: {} };
const PLAY = { 'config show': answering(SHOWN) };
const SWITCH = 'Switch Profile in This Window';

test('a window gets a profile of its own, and the setting stays', async () => {
  const { context, editor, store } = lab(PLAY, { [SWITCH]: 'azure' }, WITH_NODE);
  await switchProfile(context);
  // Nothing of the profile before is shown as this one's.
  expect(store.picture).toMatchObject({ status: undefined, asking: 'azure' });
  expect(editor.picked.map(({ label }) => label)).toEqual(['aws', 'azure', 'local']);
  // A node of another profile may be in use, too.
  expect(editor.picked[0]?.description).toBe('this window’s');
  expect(editor.seen).toEqual([`pick: ${SWITCH}`, 'here: profile = "azure"', 'reconnect']);
});

test('a window with its own can go back to what the others have', async () => {
  const { context, editor } = lab(PLAY, { [SWITCH]: 'As in other windows' });
  await editor.rememberHere('profile', 'aws');
  await switchProfile(context);
  expect(editor.seen.slice(-2)).toEqual(['here: profile = nothing', 'reconnect']);
});

test('Escape, and the profile that the window has already, change nothing', async () => {
  const { context, editor } = lab(PLAY, {});
  await switchProfile(context);
  await editor.rememberHere('profile', 'aws');
  editor.answers[SWITCH] = 'aws';
  await switchProfile(context);
  expect(editor.seen.filter((line) => line === 'reconnect')).toEqual([]);
});

test('asked on which cluster, a window with its own profile keeps the answer to itself', async () => {
  const { context, editor, store } = lab(PLAY, { Profile: 'azure' }, WITH_NODE);
  await editor.rememberHere('profile', 'aws');
  expect(await chooseProfile(context)).toBe(true);
  // What is shown from here on is of the profile that commands are for.
  expect(editor.seen.slice(-2)).toEqual(['here: profile = "azure"', 'reconnect']);
  expect(store.picture.status).toBeUndefined();
  expect(editor.settings.has('profile')).toBe(false);
});

test('a row of the view Clusters says which profile, and nothing is asked', async () => {
  const { context, editor, argvs } = lab(PLAY);
  await switchProfile(context, { profile: 'azure' });
  expect(argvs()).toEqual([]);
  expect(editor.seen).toEqual(['here: profile = "azure"', 'reconnect']);
});
