import { expect, test } from 'vitest';
import type { StatusOfAll } from '../../src/cli/protocol';
import { Everywhere } from '../../src/views/everywhere';
import { EVERYWHERE } from '../clusters';

function asked(answer: () => Promise<StatusOfAll>) {
  const seen = { asked: 0, changed: 0, nowMs: 0 };
  const everywhere = new Everywhere({
    ask: () => {
      seen.asked += 1;
      return answer();
    },
    changed: () => {
      seen.changed += 1;
    },
    now: () => seen.nowMs,
  });
  const labels = () => everywhere.rows('uni').map(({ label }) => label);
  return { seen, everywhere, labels };
}
const settled = () => new Promise((done) => setImmediate(done));
const NAMES = ['uni', 'aws', 'lab', 'desk', 'mila'];

test('clusters are asked by whoever looks first, and never again by themselves', async () => {
  const { seen, everywhere, labels } = asked(() => Promise.resolve(EVERYWHERE));
  expect(seen.asked).toBe(0);
  expect(labels()).toEqual(['Asking the clusters…']);
  labels();
  await settled();
  expect(seen).toMatchObject({ asked: 1, changed: 1 });
  expect(labels()).toEqual(NAMES);
  seen.nowMs = 3_600_000;
  labels();
  await settled();
  expect(seen.asked).toBe(1);
  expect(everywhere.asOfMs).toBe(0);
});

test('asked anew, the earlier answer is shown until the other one is there', async () => {
  const { seen, everywhere, labels } = asked(() => Promise.resolve(EVERYWHERE));
  labels();
  await settled();
  everywhere.renew();
  expect(labels()).toEqual(NAMES);
  everywhere.renew();
  labels();
  await settled();
  expect(seen).toMatchObject({ asked: 2, changed: 2 });
});

test('a failure is shown and does not ask again by itself', async () => {
  const { seen, labels } = asked(() => Promise.reject(new Error('no')));
  labels();
  await settled();
  expect(labels()[0]).toContain('The extension failed: no');
  await settled();
  expect(seen.asked).toBe(1);
});

test('a view that is opened again within a minute shows the same answer', async () => {
  const { seen, everywhere, labels } = asked(() => Promise.resolve(EVERYWHERE));
  expect(everywhere.isOld()).toBe(true);
  labels();
  await settled();
  seen.nowMs = 59_000;
  expect(everywhere.isOld()).toBe(false);
  seen.nowMs = 60_000;
  expect(everywhere.isOld()).toBe(true);
});
