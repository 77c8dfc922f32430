// A request that waits in Slurm's queue, whoever made it: withdrawn, and told of when it is granted.

import type { Choice } from '../editor';
import { stateText } from '../format/progressText';
import { capital, plain } from '../format/words';
import { held, phaseOf, type Picture } from '../state/state';
import { runWithProgress, type Context } from './context';
import { getReady } from './ready';

const START = 'Start Working';

export async function withdraw(context: Context): Promise<void> {
  const isWithdrawn = await takeBack(context);
  const { editor } = context;
  await editor.inform(isWithdrawn ? 'The request is withdrawn.' : 'No request waits.');
}

/** Whether there was one. */
export async function takeBack(context: Context): Promise<boolean> {
  const { data } = await runWithProgress(context, 'clear', {
    title: 'Withdrawing the request',
    args: ['--pending'],
  });
  context.refresh();
  return data.released;
}

export type Instead = 'wait' | 'anew';

/** While a request waits, the CLI sends no other one: what to do with it. Nothing when that was dismissed. */
export async function chooseInstead(
  { editor, store }: Context,
  jobId: number | null,
): Promise<Instead | undefined> {
  const { request, status } = store.picture;
  const seen = request ?? status?.allocation;
  const line = stateText(seen && seen.state !== 'asking' ? seen : { state: 'pending' }, Date.now());
  const choices: Choice<Instead>[] = [
    { label: 'Wait for It', value: 'wait', detail: 'No other request is sent' },
    {
      label: 'Withdraw It and Ask Anew',
      value: 'anew',
      detail: 'It keeps its place in the queue until the new request is sent',
    },
  ];
  const title = `${requestName(jobId)} waits already`;
  const options = { title, placeholder: capital(line), stays: true };
  return (await editor.pick(Promise.resolve(choices), options)) as Instead | undefined;
}

/** A request as the beginning of a sentence. */
export function requestName(jobId: number | null): string {
  return jobId === null ? 'A request' : `Job ${jobId}`;
}

/** The job that waits, as far as this window knows; null while it has no number yet. */
export function waitingJob(picture: Picture): number | null | undefined {
  if (phaseOf(picture) !== 'waiting') return undefined;
  const { request, status } = picture;
  return (request ? request.jobId : status?.allocation?.job_id) ?? null;
}

/** Tells of a node that came while this window did not wait for it itself: a command that waits tells by itself. */
export async function tellGrant(context: Context, now: Picture, before: Picture): Promise<void> {
  if (now.request || before.request) return;
  const node = held(now)?.node;
  if (phaseOf(before) !== 'waiting' || !node) return;
  const pressed = await context.editor.inform(`${plain(node)} is yours now.`, START);
  if (pressed === START) await getReady(context);
}
