// Auto Backup: on or off, and on by itself when there is a workspace to save.

import { backupArgs } from '../settings';
import { held } from '../state/state';
import { duration, moment, plain } from '../format/words';
import { runWithProgress, type Context } from './context';

const START = 'Start Working';

export async function autobackup(context: Context): Promise<void> {
  const auto = context.store.picture.status?.autobackup;
  // One that gives no sign of life is started again, not switched off.
  if (!auto?.enabled || auto.overdue) {
    await tellOn(context, await switchOn(context));
    return;
  }
  const isSure = await context.editor.confirm(
    'Turn auto-backup off?',
    `Until now a snapshot was taken every ${duration(auto.every_s)}. Without it, only Run Backup saves your work.`,
    'Turn Off',
  );
  if (isSure) await switchOff(context);
}

/** Without a workspace nothing is saved: the next step makes or brings it. */
async function tellOn({ editor }: Context, { message, isOfUse }: SwitchedOn): Promise<void> {
  const pressed = await editor.inform(message, ...(isOfUse ? [] : [START]));
  if (pressed === START) await editor.execute('scratchflow.up');
}

interface SwitchedOn {
  readonly message: string;
  /** Whether there is a workspace to save, as far as the node says. */
  readonly isOfUse: boolean;
}

/** Says what was done, for whoever asked for it to show. */
async function switchOn(context: Context): Promise<SwitchedOn> {
  const { data } = await runWithProgress(context, 'autobackup on', {
    title: 'Turning auto-backup on',
    args: backupArgs((key) => context.editor.setting(key)),
  });
  const isOfUse = data.workspace_exists !== false;
  const next = data.next_time ? `, the next one ${moment(data.next_time, Date.now())}` : '';
  const who = plain(data.node ?? 'this machine');
  const often = `takes a snapshot every ${duration(data.every_s)}`;
  const when = isOfUse ? next : ', once there is a workspace';
  return { message: `Auto-backup is on: ${who} ${often}${when}.`, isOfUse };
}

async function switchOff(context: Context): Promise<void> {
  await runWithProgress(context, 'autobackup off', { title: 'Turning auto-backup off' });
  await context.editor.inform('Auto-backup is off.');
}

/** After a workspace came to a node: on, if the user likes it so and it is not already. Says so, or nothing. */
export async function keepSafe(context: Context): Promise<string> {
  const { editor, store } = context;
  const { picture } = store;
  const isWanted = editor.setting('autoBackup') !== false;
  const isOff = held(picture) && picture.status?.autobackup.enabled === false;
  return isWanted && isOff ? (await switchOn(context)).message : '';
}
