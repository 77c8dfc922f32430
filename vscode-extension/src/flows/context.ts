// What every flow gets, and what all of them do: run with progress, report what went wrong.

import { commandLine, type Cli, type Done, type Op } from '../cli/cli';
import type { Editor, Progress } from '../editor';
import { actionOf, problemAction, withOptions, withTitles, type HintAction } from '../hint';
import { CANCELLED, NEEDS_ANOTHER_CLI, problemOf, type Problem } from '../cli/problem';
import type { AnyEvent, JobsListed, NodesShown, Results } from '../cli/protocol';
import { problemText } from '../format/problemText';
import { isBare, progressText } from '../format/progressText';
import { plain } from '../format/words';
import { inSettings, settingOf } from '../settings';
import type { Store } from '../state/state';
import { RESTORE, workspaceOffer } from './bring';
import { IN_ANY_PROFILE, INSTALL, LOG, ofProfile, OPEN_SETTING } from './ofProfile';
import { noted } from './underWay';

export interface Context {
  readonly cli: Cli;
  readonly editor: Editor;
  readonly store: Store;
  /** The program itself, for terminals. */
  readonly locate: () => Promise<string>;
  /** What `--profile` and its like are, for terminals. */
  readonly globalArgs: () => readonly string[];
  /** What is free now: asked anew, and shown by whatever else shows nodes. */
  readonly nodes: () => Promise<NodesShown>;
  /** What was submitted: asked anew, and shown by the view Jobs. */
  readonly jobs: () => Promise<JobsListed>;
  /** Something became of a job: the view Jobs is asked for again. */
  readonly refreshJobs: () => void;
  /** A sync ended: what it left is shown by the view Clusters. */
  readonly refreshSync: () => void;
  /** A command changed something: the lists in the side bar are asked for again. */
  readonly refresh: () => void;
  /** The CLI or its settings are others than before: everything is. */
  readonly reconnect: () => void;
}

export interface Running {
  readonly title: string;
  readonly args?: readonly string[];
  readonly withoutProfile?: boolean;
  readonly onEvent?: (event: AnyEvent, progress: Progress) => void;
}

/** Runs one operation under a notification that shows how far it is and can cancel it. */
export function runWithProgress<O extends Op>(
  { cli, editor }: Context,
  op: O,
  running: Running,
): Promise<Done<Results[O]>> {
  return editor.withProgress(running.title, (progress) => {
    const report = reporter(progress);
    const run = () =>
      cli.run(op, {
        args: running.args ?? [],
        withoutProfile: running.withoutProfile ?? false,
        signal: progress.signal,
        onEvent: (event) => {
          report(event);
          running.onEvent?.(event, progress);
        },
      });
    return noted({ cli, editor }, op, run);
  });
}

function reporter(progress: Progress): (event: AnyEvent) => void {
  let isWaiting = false;
  return (event) => {
    if (event.type === 'state') isWaiting = event.state === 'pending';
    // That one waits is known already; the reason why is worth more.
    if (isWaiting && event.type === 'progress' && isBare(event)) return;
    const shown = progressText(event);
    if (shown) progress.report(shown.message, shown.percent);
  };
}

/** Makes a flow a command, of the profile that the window has when it begins: reports whatever it throws. */
export function guarded<A extends unknown[]>(
  context: Context,
  flow: (context: Context, ...args: A) => Promise<void>,
): (...args: A) => Promise<void> {
  return async (...args) => {
    const given = ofProfile(context);
    try {
      await flow(given, ...args);
    } catch (error) {
      const again = guarded(context, flow);
      await tellProblem(given, problemOf(error), () => again(...args));
    }
  };
}

const LOGIN = 'scratchflow.login';
export const OPEN_SETTINGS = 'workbench.action.openSettings';

type Again = () => Promise<void>;

/** What a flow can do about a problem itself, under a button of that name. */
export interface WayOut {
  readonly label: string;
  readonly take: () => Promise<void>;
}

/** Message and hint, with a button for what the hint says and one for the log. `again` is what was interrupted. */
export async function tellProblem(
  context: Context,
  problem: Problem,
  again?: Again,
  wayOut?: WayOut,
): Promise<void> {
  if (problem.code === 'cli.cancelled') return tellCancelled(context, problem, again);
  const action = fitting(context, problemAction(problem));
  const first = firstButton(problem, action?.label);
  const buttons = [wayOut?.label, first, LOG].filter((one) => one !== undefined);
  const pressed = await context.editor.fail(problemInWords(context, problem), ...buttons);
  if (pressed === undefined) return;
  if (pressed === wayOut?.label) await wayOut.take();
  else if (IN_ANY_PROFILE.has(pressed)) await openPlace(context, pressed, settingOf(problem));
  else if (action) await act(context, action, again);
}

/** As it is told in this editor: with its settings and its commands. */
export function problemInWords({ editor, globalArgs }: Context, problem: Problem): string {
  const text = problemText(inSettings(problem, (key) => editor.setting(key)));
  return withTitles(text, commandLine(globalArgs()));
}

/** What the buttons do that have nothing to do with a profile. */
async function openPlace(
  { editor }: Context,
  button: string,
  setting: string | undefined,
): Promise<void> {
  if (button === LOG) editor.showLog();
  else if (button === OPEN_SETTING) await editor.execute(OPEN_SETTINGS, setting);
  else await editor.execute('scratchflow.install');
}

/** A hint that names both ways to a workspace begins with the snapshot: where there is none, that would fail. */
function fitting({ store }: Context, action: HintAction | undefined): HintAction | undefined {
  if (action?.kind !== 'command' || action.command !== RESTORE) return action;
  const offer = workspaceOffer(store.picture);
  return offer && { kind: 'command', label: offer.title, command: offer.command };
}

function firstButton(problem: Problem, action: string | undefined): string | undefined {
  if (settingOf(problem) !== undefined) return OPEN_SETTING;
  return NEEDS_ANOTHER_CLI.has(problem.code) ? INSTALL : action;
}

/** That it was cancelled, the user knows; what became of it is told, with a button for what is left to do. */
async function tellCancelled(
  context: Context,
  { message }: Problem,
  again: Again | undefined,
): Promise<void> {
  if (message === CANCELLED) return;
  const action = actionOf(message);
  const buttons = action ? [action.label] : [];
  const told = withTitles(plain(message), commandLine(context.globalArgs()));
  const pressed = await context.editor.inform(told, ...buttons);
  if (pressed !== undefined && action) await act(context, action, again);
}

async function act(
  { editor, globalArgs, locate }: Context,
  action: HintAction,
  again: Again | undefined,
): Promise<void> {
  if (action.kind === 'command') {
    await editor.execute(action.command, ...(action.command === LOGIN ? [again] : []));
    return;
  }
  // The user's shell may not know where our scratchflow is, nor the terminal which profile the window has by now.
  const isOurs = action.text.startsWith('scratchflow ');
  const text = isOurs ? withOptions(action.text, commandLine(globalArgs())) : action.text;
  const program = isOurs ? commandLine([await locate()]) : 'scratchflow';
  editor.typeIntoTerminal(
    'scratchflow',
    text.replace(/^scratchflow/, () => program),
  );
}
