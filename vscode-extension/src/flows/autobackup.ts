// Auto Backup: on or off, and on by itself when there is a workspace to save.

import { backupArgs } from '../settings';
import { held } from '../state/state';
import { duration, moment, plain } from '../format/words';
import { runWithProgress, type Context } from './context';

export async function autobackup(context: Context): Promise<void> {
  const auto = context.store.picture.status?.autobackup;
  // One that gives no sign of life is started again, not switched off.
  if (!auto?.enabled || auto.overdue) {
    await context.editor.inform(await switchOn(context));
    return;
  }
  const isSure = await context.editor.confirm(
    'Turn auto-backup off?',
    `Until now a snapshot was taken every ${duration(auto.every_s)}. Without it, only Run Backup saves your work.`,
    'Turn Off',
  );
  if (isSure) await switchOff(context);
}

/** Says what was done, for whoever asked for it to show. */
async function switchOn(context: Context): Promise<string> {
  const { data } = await runWithProgress(context, 'autobackup on', {
    title: 'Turning auto-backup on',
    args: backupArgs((key) => context.editor.setting(key)),
  });
  const next = data.next_time ? `, the next one ${moment(data.next_time, Date.now())}` : '';
  const who = plain(data.node ?? 'this machine');
  const often = `takes a snapshot every ${duration(data.every_s)}`;
  return `Auto-backup is on: ${who} ${often}${next}.`;
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
  return isWanted && isOff ? switchOn(context) : '';
}
