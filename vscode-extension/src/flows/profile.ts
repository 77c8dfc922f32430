// Which profile is meant, asked only when there are several. The answer becomes the setting, so that
// the status bar and every later command mean the same cluster.

import type { Context } from './context';
import { text } from '../settings';
import { plain } from '../format/words';

/** Works without any cluster; of no use to somebody who wants a node and has one. */
const BUILT_IN = 'local';

/** False when the user dismissed the question. */
export async function chooseProfile({ cli, editor }: Context): Promise<boolean> {
  const { data } = await cli.run('config show');
  const clusters = data.profiles.filter((name) => name !== BUILT_IN || name === data.profile);
  if (clusters.length < 2) return true;
  const choices = clusters.map((name) => ({
    label: plain(name),
    value: name,
    ...(name === data.profile ? { description: 'in use' } : {}),
  }));
  const inUseFirst = choices.sort((left, right) => rank(left.value) - rank(right.value));
  const chosen = await editor.pick(Promise.resolve(inUseFirst), {
    title: 'Profile',
    placeholder: 'On which cluster?',
  });
  if (chosen === undefined) return false;
  const isNews = chosen !== data.profile && chosen !== text(editor.setting('profile'));
  if (isNews) await editor.setSetting('profile', chosen);
  return true;

  function rank(name: string): number {
    return name === data.profile ? 0 : 1;
  }
}
