// Sync Homes, Look for Conflicts, and the decision about one of them: what is a conflict, the CLI says.

import { commandLine } from '../cli/cli';
import { problemOf } from '../cli/problem';
import type { Synced } from '../cli/protocol';
import { problemText } from '../format/problemText';
import { broughtText, leftText, type ClusterRef, type ConflictRef } from '../format/syncText';
import { capital, plain } from '../format/words';
import { runWithProgress, type Context } from './context';

const SHOW = 'Show Conflicts';
const MANY_DELETIONS = 'sync.many_deletions';

/** All homes of `[sync]`, or the first one's and that of one profile. */
export async function syncHomes(context: Context, ref?: ClusterRef): Promise<void> {
  const title = 'Syncing homes';
  const synced = await agreedTo(context, (more) => run(context, title, [...only(ref), ...more]));
  if (!synced) return;
  const { first, pairs } = synced;
  const brought = pairs.map((pair) => broughtText(first, pair));
  await tell(context, brought.join('; '), leftText(synced));
}

/** Changes nothing. */
export async function lookForConflicts(context: Context, ref?: ClusterRef): Promise<void> {
  const left = leftText(await run(context, 'Looking for conflicts', [...only(ref), '--dry-run']));
  await tell(context, left === '' ? 'No conflicts' : 'Nothing was changed', left);
}

/** One of the two versions goes to both homes; the rest of the folders is left alone. */
export async function keepOne(context: Context, ref: ConflictRef): Promise<void> {
  const { editor } = context;
  const { first, profile, conflict } = ref;
  if (conflict.has_plain_name === false) return askInTerminal(context);
  const path = plain(conflict.path);
  const choices = [
    { label: `Keep the One of ${plain(first)}`, value: first, description: conflict.first },
    { label: `Keep the One of ${plain(profile)}`, value: profile, description: conflict.other },
  ].map((choice) => ({ ...choice, description: plain(choice.description) }));
  const winner = await editor.pick(Promise.resolve(choices), {
    title: `Keep Which One? ${path}`,
    placeholder: 'It goes to both homes; what it replaces is kept in ~/.unison/backup there',
  });
  if (winner === undefined) return;
  const args = [profile, `--path=${conflict.path}`, '--prefer', winner];
  const title = `Keeping ${path} of ${plain(winner)}`;
  const synced = await agreedTo(context, (more) => run(context, title, [...args, ...more]));
  if (!synced) return;
  const left = leftText(synced);
  const done = `Both homes have ${path} as on ${plain(winner)} now`;
  await tell(context, left === '' ? done : `The homes do not have the same ${path} yet`, left);
}

function only(ref: ClusterRef | undefined): string[] {
  return ref ? [ref.profile] : [];
}

/** Whatever came of it, the view is drawn anew. */
async function run(context: Context, title: string, args: readonly string[]): Promise<Synced> {
  try {
    return (await runWithProgress(context, 'sync', { title, args })).data;
  } finally {
    context.refreshSync();
  }
}

/** When the CLI wants a yes to many deletions, the user is asked in its words. Nothing when they say no. */
async function agreedTo(
  { editor }: Context,
  attempt: (more: readonly string[]) => Promise<Synced>,
): Promise<Synced | undefined> {
  try {
    return await attempt([]);
  } catch (error) {
    const problem = problemOf(error);
    if (problem.code !== MANY_DELETIONS) throw error;
    const question = problemText({ ...problem, hint: '' });
    const hint = problemText({ ...problem, message: problem.hint, hint: '' });
    if (!(await editor.confirm(question, hint, 'Delete Them'))) return undefined;
    return attempt(['--allow-deletions']);
  }
}

async function tell({ editor }: Context, done: string, left: string): Promise<void> {
  if (left === '') {
    await editor.inform(`${capital(done)}.`);
    return;
  }
  const pressed = await editor.warn(`${capital(left)}. ${capital(done)}.`, SHOW);
  if (pressed === SHOW) await editor.execute('scratchflow.clustersView.focus');
}

/** A name that cannot be typed is asked about there, with all others. */
async function askInTerminal({ editor, locate }: Context): Promise<void> {
  editor.typeIntoTerminal('scratchflow', commandLine([await locate(), 'sync', '--interactive']));
}
