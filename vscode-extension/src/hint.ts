// A hint's command as a button: hints name what to run in backticks.

import { needsLogin, type Problem } from './cli/problem';
import { offerFor, type Offer } from './verbs';

export type HintAction =
  | { readonly kind: 'command'; readonly label: string; readonly command: string }
  /** More than the bare verb: typed into a terminal, not run, so that the user sees it first. */
  | { readonly kind: 'terminal'; readonly label: string; readonly text: string };

// No control characters: one of them in a file name could press Enter.
const COMMAND = /`((?:scratchflow|ssh|ssh-add|ssh-keygen) [^`\p{Cc}]+)`/u;
// `LOGIN` stands for something that the command asks for by itself.
const PLACEHOLDER = /^[[\]A-Z_.]+$/;

/** The command that asks in a terminal for whatever a login needs, and leaves a connection behind. */
const LOGIN = 'scratchflow status';
const WITHDRAW = 'scratchflow clear --pending';

export function problemAction(problem: Problem): HintAction | undefined {
  const isLogin = needsLogin(problem) && COMMAND.exec(problem.hint)?.[1] === LOGIN;
  const offer = isLogin ? offerFor('login') : undefined;
  return commandOf(offer) ?? actionOf(problem.hint);
}

function commandOf(offer: Offer | undefined): HintAction | undefined {
  return offer && { kind: 'command', label: offer.title, command: offer.command };
}

export function actionOf(hint: string): HintAction | undefined {
  const text = COMMAND.exec(hint)?.[1];
  if (text === undefined) return undefined;
  if (text === WITHDRAW) return commandOf(offerFor('withdraw'));
  const [program, verb = '', ...rest] = text.split(' ');
  const offer = offerFor(verb);
  if (
    program === 'scratchflow' &&
    offer &&
    isBare(rest.filter((word) => !PLACEHOLDER.test(word)).join(' '))
  ) {
    return commandOf(offer);
  }
  return { kind: 'terminal', label: 'Open in Terminal', text };
}

const COMMAND_LINE = /`scratchflow [^`]+`/g;

/**
 * The text with the titles of commands in place of command lines that they run; what is meant for a terminal stays.
 * Command lines have `options`: in another terminal they would mean another profile.
 */
export function withTitles(text: string, options: string): string {
  const isForTerminal = /\bterminal\b/.test(text);
  return text.replace(COMMAND_LINE, (line) => {
    const action = isForTerminal ? undefined : actionOf(line);
    return action?.kind === 'command' ? action.label : withOptions(line, options);
  });
}

/** A command line with what every command of the window has, unless it names a profile itself. */
export function withOptions(line: string, options: string): string {
  const names = / (-p|--profile)[ =]/.test(line);
  return options === '' || names ? line : line.replace('scratchflow', `scratchflow ${options}`);
}

/** Whether the command does just that: `snapshots list` is what Browse Snapshots shows. */
function isBare(rest: string): boolean {
  return ['', 'list', 'on'].includes(rest);
}
