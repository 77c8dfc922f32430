// Move Workspace to This Cluster: the CLI does all the steps; this window goes along.

import type { ClusterRef } from '../format/syncText';
import { plain } from '../format/words';
import { runWithProgress, type Context } from './context';
import { openWorkspace } from './open';
import { useHere } from './profile';
import { KEEP_WAITING, offerToOpen, requestArgs } from './ready';

export async function moveTo(context: Context, { profile }: ClusterRef): Promise<void> {
  const { editor, store } = context;
  const from = plain(store.picture.status?.profile ?? 'this cluster');
  const to = plain(profile);
  const isSure = await editor.confirm(
    `Move the workspace from ${from} to ${to}?`,
    `A backup is taken and copied to the store of ${to}, a node is asked for there, and the workspace is ` +
      `brought to it. A node of ${from} is kept until the workspace is whole there, then it is given back.`,
    'Move',
  );
  if (!isSure) return;
  const { data } = await runWithProgress(context, 'hop --to', {
    title: `Moving to ${to}`,
    args: [profile, ...KEEP_WAITING, ...requestArgs(context)],
  });
  await useHere(context, data.to);
  const message = `The workspace is on ${plain(data.node ?? 'a node')} of ${to}, and so is this window.`;
  await offerToOpen(context, message, () => openWorkspace(context));
}
