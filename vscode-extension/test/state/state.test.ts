import { describe, expect, test } from 'vitest';
import type { AllocationShown, State } from '../../src/cli/protocol';
import {
  isBack,
  isSavedLate,
  savedAge,
  next,
  phaseOf,
  secondsLeft,
  staleSince,
  Store,
  UNKNOWN,
} from '../../src/state/state';
import { NO_NODE, NOW, savedLate, seeing, WITH_NODE } from '../pictures';

const state = (name: string, reason?: string): State => ({
  ...{ v: 1, seq: 0, ts: '', op: 'allocate', type: 'state', previous: null },
  state: name,
  ...(reason === undefined ? {} : { reason }),
});

describe('the allocation goes', () => {
  test('from unknown to none to held', () => {
    expect(phaseOf(UNKNOWN)).toBe('unknown');
    expect(phaseOf(seeing(NO_NODE))).toBe('none');
    expect(phaseOf(seeing(WITH_NODE))).toBe('held');
  });

  test.each<[string, string]>([
    ['pending', 'waiting'],
    ['configuring', 'waiting'],
    ['running', 'held'],
    ['suspended', 'held'],
    ['completing', 'ending'],
    ['a word of the future', 'waiting'],
  ])('%s is %s', (word, phase) => {
    const allocation = { ...WITH_NODE.allocation, state: word } as AllocationShown;
    expect(phaseOf(seeing({ ...WITH_NODE, allocation }))).toBe(phase);
  });

  test('to waiting while this window asks, with the reason, and back when that is settled', () => {
    let picture = next(seeing(NO_NODE), { type: 'asked' });
    expect(phaseOf(picture)).toBe('waiting');
    picture = next(picture, { type: 'state', event: state('pending', 'Priority') });
    expect(picture.request).toMatchObject({ state: 'pending', reason: 'Priority' });
    picture = next(picture, { type: 'settled' });
    expect(phaseOf(picture)).toBe('none');
  });
});

test('times run on from the moment of the status, whatever the cluster’s clock says', () => {
  const picture = seeing(WITH_NODE);
  expect(secondsLeft(picture, NOW + 60_000)).toBe(3 * 3600 - 60);
  expect(secondsLeft(picture, NOW + 24 * 3600_000)).toBe(0);
  expect(savedAge(picture, NOW + 60_000)).toBe(1260);
});

test('whether a backup is late is for the CLI to say, however much time passes', () => {
  expect(isSavedLate(seeing(WITH_NODE, NOW - 9 * 3600_000))).toBe(false);
  expect(isSavedLate(seeing(savedLate()))).toBe(true);
});

test('a lost connection keeps the last picture', () => {
  const problem = { code: 'x', message: '', hint: '', retryable: true };
  const link = { is: 'waiting', problem, retryAtMs: NOW } as const;
  expect(phaseOf(next(seeing(WITH_NODE), { type: 'link', link }))).toBe('held');
});

test('listeners hear of each change until they leave', () => {
  const store = new Store();
  const heard: string[] = [];
  const listening = store.onChange((now, before) =>
    heard.push(`${phaseOf(before)}>${phaseOf(now)}`),
  );
  store.dispatch({ type: 'status', data: NO_NODE, atMs: NOW });
  listening.dispose();
  store.dispatch({ type: 'status', data: WITH_NODE, atMs: NOW });
  expect(heard).toEqual(['unknown>none']);
});

test('while a lost connection is tried again, what is shown stays marked as old', () => {
  const problem = { code: 'x', message: 'lost', hint: '', retryable: true };
  const lost = next(seeing(WITH_NODE), {
    ...{ type: 'link', link: { is: 'waiting', problem, retryAtMs: NOW } },
  });
  const again = next(lost, { type: 'link', link: { is: 'starting' } });
  expect(staleSince(again)).toBe(NOW);
  expect(isBack(again, lost)).toBe(false);
  expect(isBack(seeing(WITH_NODE), again)).toBe(true);
  expect(isBack(seeing(WITH_NODE), seeing(WITH_NODE))).toBe(false);
  expect(staleSince(next(again, { type: 'status', data: WITH_NODE, atMs: NOW }))).toBeUndefined();
});
