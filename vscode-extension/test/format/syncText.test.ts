import { expect, test } from 'vitest';
import { broughtText, conflictText, leftText } from '../../src/format/syncText';
import { CONFLICT } from '../clusters';

test('a conflict says what happened on either side', () => {
  const ref = { first: 'uni', profile: 'aws', conflict: CONFLICT };
  expect(conflictText(ref)).toBe('changed on uni, deleted on aws');
  const same = { ...CONFLICT, same_contents: true };
  expect(conflictText({ ...ref, conflict: same })).toBe('same contents, different permissions');
});

test('a run says what it brought where, and what it left', () => {
  const pair = { profile: 'aws', to_first: 1, to_profile: 2, deleted: 1, conflicts: ['a'] };
  expect(broughtText('uni', pair)).toBe('2 changes to aws, 1 change to uni, 1 deletion among them');
  expect(broughtText('uni', { profile: 'aws' })).toBe('Nothing to bring between uni and aws');
  const failed = [{ path: 'b', reason: 'no space' }];
  const pairs = [pair, { profile: 'mila', failed }];
  expect(leftText({ pairs })).toBe('1 conflict, 1 path not synced');
  expect(leftText({ pairs: [{ profile: 'mila' }] })).toBe('');
});

test('a profile that could not be synced is named with its error', () => {
  const away = { profile: 'aws', login: 'a', code: 'connection.lost', message: 'no connection' };
  const pairs = [{ profile: 'mila', conflicts: ['a'] }];
  expect(leftText({ pairs, failed: [away] })).toBe('1 conflict, aws not synced: no connection');
});
