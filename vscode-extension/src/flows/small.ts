// Commands that are a question and an answer.

import type { Check } from '../protocol';
import { plain } from '../words';
import { runWithProgress, type Context } from './context';

/** Opens the CLI's own settings; it says where they are. */
export async function openSettings({ cli, editor }: Context): Promise<void> {
  const { data } = await cli.run('config path');
  if (data.exists) return editor.openFile(data.path);
  const button = 'Set Up Cluster';
  const message = `There are no settings yet. They will be in ${plain(data.path)}.`;
  const pressed = await editor.inform(message, button);
  if (pressed === button) await editor.execute('scratchflow.setup');
}

/** tmux needs a terminal; the CLI does the rest. */
export async function attach({ editor, locate, globalArgs }: Context): Promise<void> {
  editor.runInTerminal('scratchflow: tmux', await locate(), ['attach', ...globalArgs()]);
}

export async function doctor(context: Context): Promise<void> {
  const { data } = await runWithProgress(context, 'doctor', { title: 'Looking everything over' });
  const bad = data.checks.filter((check) => !check.ok).length;
  const fix = await context.editor.pick(Promise.resolve(checkChoices(data.checks)), {
    title: bad === 0 ? 'All is well' : `${bad} of ${data.checks.length} checks failed`,
    placeholder: bad === 0 ? 'Every check' : 'Pick one to type its fix into a terminal',
    stays: true,
  });
  if (fix) context.editor.typeIntoTerminal('scratchflow', plain(fix));
}

function checkChoices(checks: readonly Check[]) {
  const failedFirst = [...checks].sort((left, right) => Number(left.ok) - Number(right.ok));
  return failedFirst.map(({ name, ok, detail, fix }) => ({
    label: `${ok ? '$(pass)' : '$(error)'} ${plain(name)}`,
    value: fix ?? '',
    description: plain(detail),
    ...(fix ? { detail: plain(fix) } : {}),
  }));
}
