import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Poll } from '../../src/state/poll';

let asked = 0;
let poll: Poll;

beforeEach(() => {
  vi.useFakeTimers();
  asked = 0;
  poll = new Poll({ ask: () => void (asked += 1), now: Date.now });
});

afterEach(() => void vi.useRealTimers());

test('while something runs and is seen, it is asked every 30 s and no more', () => {
  poll.look(true);
  poll.answered(true);
  vi.advanceTimersByTime(29_000);
  expect(asked).toBe(0);
  vi.advanceTimersByTime(1_000);
  expect(asked).toBe(1);
  vi.advanceTimersByTime(300_000);
  expect(asked, 'not before the answer has come').toBe(1);
  poll.answered(true);
  vi.advanceTimersByTime(30_000);
  expect(asked).toBe(2);
});

test('where nothing runs, nothing is asked', () => {
  poll.look(true);
  poll.answered(false);
  vi.advanceTimersByTime(3_600_000);
  expect(asked).toBe(0);
});

test('what nobody sees is not asked, and at the next sight at once when it is old', () => {
  poll.look(true);
  poll.answered(true);
  poll.look(false);
  vi.advanceTimersByTime(3_600_000);
  expect(asked).toBe(0);
  poll.look(true);
  expect(asked).toBe(1);
});

test('what ended is asked again when it comes into sight, too', () => {
  poll.look(true);
  poll.answered(false);
  poll.look(false);
  vi.advanceTimersByTime(31_000);
  poll.look(true);
  expect(asked).toBe(1);
});

test('hiding and showing it again does not ask more often', () => {
  poll.look(true);
  poll.answered(true);
  for (let times = 0; times < 10; times += 1) {
    vi.advanceTimersByTime(1_000);
    poll.look(false);
    poll.look(true);
  }
  expect(asked).toBe(0);
  vi.advanceTimersByTime(20_000);
  expect(asked).toBe(1);
});

test('the first time, the view itself asks', () => {
  poll.look(true);
  vi.advanceTimersByTime(3_600_000);
  expect(asked).toBe(0);
});

test('after a failure it goes on only where that may help', () => {
  poll.look(true);
  poll.answered(true);
  poll.failed(true);
  vi.advanceTimersByTime(30_000);
  expect(asked).toBe(1);
  poll.failed(false);
  vi.advanceTimersByTime(3_600_000);
  expect(asked).toBe(1);
});

test('stopped, it asks nothing', () => {
  poll.look(true);
  poll.answered(true);
  poll.stop();
  vi.advanceTimersByTime(3_600_000);
  expect(asked).toBe(0);
});
