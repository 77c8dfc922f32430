import { expect, test } from 'vitest';
import { tellGrant, withdraw } from '../../src/flows/queue';
import { next } from '../../src/state/state';
import { answering } from '../fakeCli';
import { NO_NODE, PENDING, seeing, WITH_NODE } from '../pictures';
import { lab } from './lab';

const READY = {
  node: 'node-1',
  editor: { path: '/scratch/alice/work', host: 'compile_machine', exists: true },
};

test('Withdraw takes back what waits, and keeps the node', async () => {
  const { context, editor, argvs } = lab({ clear: answering({ released: true }) }, {}, PENDING);
  await withdraw(context);
  expect(argvs()).toEqual(['clear --pending']);
  expect(editor.seen.at(-1)).toBe('info: The request is withdrawn.');
});

test('every window tells of a grant, whoever asked, and leads on', async () => {
  const { context, editor, argvs } = lab(
    { up: answering(READY) },
    { 'node-1 is yours now': 'Start Working' },
    WITH_NODE,
  );
  await tellGrant(context, seeing(WITH_NODE), seeing(PENDING));
  expect(editor.seen[0]).toBe('info: node-1 is yours now. | Start Working');
  expect(argvs()).toEqual(['up --keep-waiting']);
});

test('nothing is told of a node that this window waits for itself, nor of one that was there', async () => {
  const { context, editor } = lab({}, {}, WITH_NODE);
  const asking = next(seeing(PENDING), { type: 'asked' });
  await tellGrant(context, next(asking, { type: 'status', data: WITH_NODE, atMs: 0 }), asking);
  await tellGrant(context, seeing(WITH_NODE), asking);
  await tellGrant(context, seeing(WITH_NODE), seeing(WITH_NODE));
  await tellGrant(context, seeing(NO_NODE), seeing(PENDING));
  expect(editor.seen).toEqual([]);
});
