// Run Doctor: every check, what is wrong first; picking one says what mends it, with a button for it.

import type { Choice } from '../editor';
import type { Check } from '../cli/protocol';
import { plain } from '../format/words';
import { runWithProgress, tellProblem, type Context } from './context';

export async function doctor(context: Context): Promise<void> {
  const { data } = await runWithProgress(context, 'doctor', { title: 'Looking everything over' });
  const bad = data.checks.filter((check) => !check.ok).length;
  const chosen = await context.editor.pick(Promise.resolve(checkChoices(data.checks)), {
    title: bad === 0 ? 'All is well' : `${bad} of ${data.checks.length} checks failed`,
    placeholder: bad === 0 ? 'Every check' : 'Pick one to mend it',
    stays: true,
  });
  const check = data.checks[Number(chosen)];
  if (chosen !== undefined && check?.ok === false) await offerFix(context, check);
}

function offerFix(context: Context, { name, detail, fix }: Check): Promise<void> {
  const message = `${name}: ${detail}`;
  return tellProblem(context, { code: 'doctor', message, hint: fix ?? '', retryable: false });
}

function checkChoices(checks: readonly Check[]): Choice<string>[] {
  // By its place: the login host and the node may each have a check of one name.
  const placed = checks.map((check, place) => ({ ...check, place }));
  const failedFirst = placed.sort((left, right) => Number(left.ok) - Number(right.ok));
  return failedFirst.map(({ name, ok, detail, fix, place }) => ({
    label: `${ok ? '$(pass)' : '$(error)'} ${plain(name)}`,
    value: String(place),
    description: plain(detail),
    ...(fix ? { detail: plain(fix) } : {}),
  }));
}
