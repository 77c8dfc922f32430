// Which profile is meant: asked when there are several and it matters, and switched for one window.

import type { ConfigShown } from '../cli/protocol';
import type { Choice } from '../editor';
import type { Context } from './context';
import { text } from '../settings';
import type { ClusterRef } from '../format/syncText';
import { plain } from '../format/words';

/** Works without any cluster; of no use to somebody who wants a node and has one. */
const BUILT_IN = 'local';
/** What a window remembers of its own; the setting is for all windows. */
export const OF_WINDOW = 'profile';
const AS_ALL = '';

/** False when the user dismissed the question. The answer stays with the window, so that its later commands mean the same cluster. */
export async function chooseProfile(context: Context): Promise<boolean> {
  const { cli, editor } = context;
  const { data } = await cli.run('config show');
  const clusters = data.profiles.filter((name) => name !== BUILT_IN || name === data.profile);
  if (clusters.length < 2) return true;
  const chosen = await editor.pick(Promise.resolve(choicesOf(clusters, data)), {
    title: 'Profile',
    placeholder: 'On which cluster?',
  });
  if (chosen === undefined) return false;
  if (chosen === data.profile) return true;
  await useHere(context, chosen);
  return true;
}

/** Gives this window a profile of its own, or what all windows have. Never the setting: that is for all windows. */
export async function useHere(context: Context, profile: string | undefined): Promise<void> {
  const { editor, store, reconnect } = context;
  await editor.rememberHere(OF_WINDOW, profile);
  // What is shown is of the profile before: it goes, and the one that commands are for now is looked at.
  store.dispatch({ type: 'switched', profile: profile ?? text(editor.setting('profile')) });
  reconnect();
}

/** For this window alone: others go on with theirs. A row of the view Clusters says which. */
export async function switchProfile(context: Context, ref?: ClusterRef): Promise<void> {
  const { cli, editor } = context;
  if (ref) return useHere(context, ref.profile);
  const { data } = await cli.run('config show');
  const asAll = {
    label: 'As in other windows',
    value: AS_ALL,
    description: 'what the setting says',
  };
  const isOwn = text(editor.recallHere(OF_WINDOW)) !== '';
  const choices = [...choicesOf(data.profiles, data), ...(isOwn ? [asAll] : [])];
  const chosen = await editor.pick(Promise.resolve(choices), {
    title: 'Switch Profile in This Window',
    placeholder: 'Which profile?',
  });
  if (chosen === undefined || (chosen === data.profile && isOwn)) return;
  await useHere(context, chosen === AS_ALL ? undefined : chosen);
}

/** The one of this window first. */
function choicesOf(names: readonly string[], { profile }: ConfigShown): Choice<string>[] {
  const rank = (name: string) => (name === profile ? 0 : 1);
  return [...names]
    .sort((left, right) => rank(left) - rank(right))
    .map((name) => ({
      label: plain(name),
      value: name,
      ...(name === profile ? { description: 'this window’s' } : {}),
    }));
}
