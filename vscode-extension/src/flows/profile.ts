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
export async function chooseProfile({ cli, editor, store, reconnect }: Context): Promise<boolean> {
  const { data } = await cli.run('config show');
  const clusters = data.profiles.filter((name) => name !== BUILT_IN || name === data.profile);
  if (clusters.length < 2) return true;
  const chosen = await editor.pick(Promise.resolve(choicesOf(clusters, data)), {
    title: 'Profile',
    placeholder: 'On which cluster?',
  });
  if (chosen === undefined) return false;
  if (chosen === data.profile) return true;
  // Never the setting: that is for all windows.
  await editor.rememberHere(OF_WINDOW, chosen);
  // What is shown is of the profile before: it goes, and the one that commands are for now is looked at.
  store.dispatch({ type: 'switched' });
  reconnect();
  return true;
}

/** For this window alone: others go on with theirs. A row of the view Clusters says which. */
export async function switchProfile(context: Context, ref?: ClusterRef): Promise<void> {
  const { cli, editor, reconnect } = context;
  if (ref) {
    await editor.rememberHere(OF_WINDOW, ref.profile);
    reconnect();
    return;
  }
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
  await editor.rememberHere(OF_WINDOW, chosen === AS_ALL ? undefined : chosen);
  reconnect();
}

/** The one in use first. */
function choicesOf(names: readonly string[], { profile }: ConfigShown): Choice<string>[] {
  const rank = (name: string) => (name === profile ? 0 : 1);
  return [...names]
    .sort((left, right) => rank(left) - rank(right))
    .map((name) => ({
      label: plain(name),
      value: name,
      ...(name === profile ? { description: 'in use' } : {}),
    }));
}
