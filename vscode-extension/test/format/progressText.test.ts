import { expect, test } from 'vitest';
import { stateText, progressText } from '../../src/format/progressText';
import type { AnyEvent, State } from '../../src/cli/protocol';
import { NOW } from '../pictures';

const event = (fields: object) => ({ v: 1, seq: 0, ts: '', op: 'x', ...fields }) as AnyEvent;

test('files and bytes are shown as they come, with a percentage once the total is known', () => {
  const progress = { type: 'progress', phase: 'scan', files_done: 1200, files_total: null };
  expect(progressText(event({ ...progress, bytes_done: 2048, bytes_total: null }))).toEqual({
    message: 'scan: 1,200 files, 2.0 KiB',
  });
  expect(
    progressText(event({ ...progress, files_total: 2400, bytes_done: 1024, bytes_total: 4096 })),
  ).toEqual({
    message: 'scan: 1,200 of 2,400 files, 1.0 KiB of 4.0 KiB',
    percent: 25,
  });
});

test('the queue’s reason and estimate are shown', () => {
  const state = event({
    type: 'state',
    state: 'pending',
    previous: null,
    reason: 'Priority',
  }) as State;
  expect(stateText(state, NOW)).toBe('waiting in the queue · Priority');
  const start_estimate = new Date(NOW + 600_000).toISOString();
  expect(stateText({ ...state, start_estimate }, NOW)).toBe(
    'waiting in the queue · Priority · starts in about 10 min',
  );
  expect(stateText({ ...state, resumed: true, job_id: 7 }, NOW)).toBe(
    'waiting in the queue · job 7, requested earlier · Priority',
  );
  expect(stateText({ ...state, state: 'running', node: 'node-1', reason: null }, NOW)).toBe(
    'the node is yours · node-1',
  );
});

test('what the keys of a terminal do is not shown', () => {
  const message = 'waiting without limit; Ctrl-C withdraws the request';
  const log = { type: 'log', level: 'info', message, for_terminal: true };
  expect(progressText(event(log))).toBeUndefined();
});

test('remarks are shown, whispers are not', () => {
  expect(progressText(event({ type: 'log', level: 'info', message: 'waiting' }))?.message).toBe(
    'waiting',
  );
  expect(progressText(event({ type: 'log', level: 'debug', message: 'x' }))).toBeUndefined();
  expect(progressText(event({ type: 'hello' }))).toBeUndefined();
});
