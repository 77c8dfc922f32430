import { describe, expect, test } from 'vitest';
import { allocate } from '../../src/flows/allocate';
import { guarded } from '../../src/flows/context';
import { answering, failure, playing, type Play } from '../fakeCli';
import { node } from '../nodes';
import { NO_NODE, PENDING } from '../pictures';
import { lab } from './lab';

const GOT = {
  ...{ job_id: 7, node: 'node-2', partition: 'debug', end_time: null },
  ...{ alias: 'compile_machine', reused: false, warm: null },
};
const state = (name: string, reason: string | null) => ({
  line: { type: 'state', state: name, previous: null, reason },
});
const ANY = { 'Allocate Compute Node': 'Any free node' };

describe('while a request waits', () => {
  const play: Play = {
    'config show': playing('config-show'),
    nodes: answering({ nodes: [node('node-1')] }),
    allocate: answering(GOT),
    clear: answering({ released: true }),
  };
  const QUESTION = 'Job 8 waits already';

  test('says so with its line before anything is asked, and sends no other', async () => {
    const { context, editor, argvs } = lab(play, { [QUESTION]: 'Wait for It' }, PENDING);
    await allocate(context);
    expect(editor.seen[0]).toBe(`pick: ${QUESTION}`);
    expect(editor.placeholder).toBe('Waiting in the queue · Priority');
    expect(argvs()).toEqual(['config show', 'allocate --keep-waiting']);
  });

  const ANEW = { [QUESTION]: 'Withdraw It and Ask Anew' };

  test('is withdrawn only when the new request is sent', async () => {
    const { context, argvs } = lab(play, { ...ANY, ...ANEW }, PENDING);
    await allocate(context);
    expect(argvs().slice(1)).toEqual([
      'nodes',
      'allocate --dry-run',
      'clear --pending',
      'allocate --keep-waiting',
    ]);
  });

  test('stays in the queue when the program refuses the new request by itself', async () => {
    const refused = { steps: [{ hello: true }, failure('usage.invalid', 'no such time')] };
    const answers = { ...ANY, ...ANEW };
    const { context, editor, argvs } = lab({ ...play, allocate: refused }, answers, PENDING);
    await guarded(context, allocate)();
    expect(argvs()).not.toContain('clear --pending');
    expect(editor.seen.at(-1)).toBe('error: No such time. | Show Log');
  });

  test('stays in the queue when the new request is not sent after all', async () => {
    const found = { ...GOT, node: '', reused: true, job_id: 8, instead: 'salloc --gpus=2' };
    const nodes = answering({ nodes: [], last: '--gpus=2' });
    const lists = { ...play, nodes, allocate: answering(found) };
    const last = { 'Allocate Compute Node': 'As last time' };
    for (const answers of [ANEW, { ...ANEW, ...last }]) {
      const { context, editor, argvs } = lab(lists, answers, PENDING);
      await allocate(context);
      expect(argvs()).not.toContain('clear --pending');
      expect(editor.details.join()).toMatch(/^$|^salloc --gpus=2\n\nJob 8 is withdrawn first/);
    }
    const yes = { ...ANEW, ...last, 'Send this request instead?': true };
    const { context, argvs } = lab(lists, yes, PENDING);
    await allocate(context);
    expect(argvs().slice(-2)).toEqual(['clear --pending', 'allocate --last --keep-waiting']);
  });

  test('that it is withdrawn is said when the new request fails', async () => {
    const refused = { steps: [{ hello: true }, failure('allocation.refused', 'Slurm says no')] };
    const answers = { ...ANY, ...ANEW };
    const sent = { ...play, allocate: refused, 'allocate --dry-run': answering(GOT) };
    const { context, editor } = lab(sent, answers, PENDING);
    await guarded(context, allocate)();
    expect(editor.seen.at(-1)).toBe(
      'error: Slurm says no. Job 8, which waited before, is withdrawn. | Show Log',
    );
  });

  test('dismissed, leaves everything as it is', async () => {
    const { context, argvs } = lab(play, ANY, PENDING);
    await allocate(context);
    expect(argvs()).toEqual(['config show']);
  });

  test('is asked, too, when only the CLI knows of it yet', async () => {
    const found = answering({ ...GOT, node: '', reused: true, command: '', job_id: 8 });
    const answers = { 'Allocate Compute Node': 'As last time', [QUESTION]: undefined };
    const nodes = answering({ nodes: [], last: '--gpus=2' });
    const { context, editor, argvs } = lab({ ...play, nodes, allocate: found }, answers, NO_NODE);
    await allocate(context);
    expect(editor.seen.at(-1)).toBe(`pick: ${QUESTION}`);
    expect(argvs().at(-1)).toBe('allocate --last --dry-run');
  });

  test('cancelled, says in the CLI’s words what became of it, and offers to withdraw it', async () => {
    const message =
      'Cancelled. Job 8 stays in the queue; `scratchflow clear --pending` withdraws it.';
    const line = { type: 'error', code: 'signal.ended', message, hint: '', exit_code: 130 };
    const hang = {
      steps: [{ hello: true }, state('pending', 'Priority'), { hang: true }],
      onSigint: [{ line }, { exit: 130 }],
    };
    const answers = { [QUESTION]: 'Wait for It', 'Cancelled. Job 8': 'Withdraw Request' };
    const { context, editor, store } = lab({ ...play, allocate: hang }, answers, PENDING);
    store.onChange(({ request }) => {
      if (request?.state === 'pending') editor.abort.abort();
    });
    await guarded(context, allocate)();
    expect(editor.seen.slice(-2)).toEqual([
      'info: Cancelled. Job 8 stays in the queue; Withdraw Request withdraws it. | Withdraw Request',
      'command: scratchflow.withdraw',
    ]);
  });
});
