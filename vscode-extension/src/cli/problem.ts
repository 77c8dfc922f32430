// What can go wrong between the extension and the CLI, in one shape: the CLI's own errors and ours.

import type { Failure } from './protocol';

export interface Problem {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  readonly retryable: boolean;
}

/** Thrown by everything that runs the CLI; carries the message for the user. */
export class CliError extends Error {
  constructor(readonly problem: Problem) {
    super(problem.message);
  }
}

/** Whatever was caught, as a problem: nothing is ever shown as a stack trace. */
export function problemOf(caught: unknown): Problem {
  if (caught instanceof CliError) return caught.problem;
  const message = caught instanceof Error ? caught.message : String(caught);
  return {
    code: 'extension.bug',
    message: `the extension failed: ${message}`,
    hint: 'the log has more; running the command again may help',
    retryable: false,
  };
}

export function fromFailure(failure: Failure): Problem {
  const { code, message, hint, retryable } = failure;
  return { code, message, hint, retryable };
}

const INSTALL =
  'install the one that comes with this extension, or name yours in `scratchflow.cliPath`';

/** Problems that only another scratchflow can solve. */
export const NEEDS_ANOTHER_CLI = new Set(['cli.missing', 'cli.too_old', 'cli.broken']);

export const missing = (): Problem => ({
  code: 'cli.missing',
  message: 'The scratchflow command line is not installed.',
  hint: INSTALL,
  retryable: false,
});

export const badPath = (path: string, reason: string): Problem => ({
  code: 'cli.missing',
  message: `The setting scratchflow.cliPath says ${path}, but ${reason}.`,
  hint: 'correct the setting, or leave it empty',
  retryable: false,
});

export const tooOld = (version: string, wanted: string): Problem => ({
  code: 'cli.too_old',
  message: `scratchflow ${version} is too old for this extension, which needs ${wanted} or newer.`,
  hint: INSTALL,
  retryable: false,
});

export const lacksVerb = (verb: string): Problem => ({
  code: 'cli.too_old',
  message: `This scratchflow is too old for the extension: it has no command ${verb}.`,
  hint: INSTALL,
  retryable: false,
});

export const tooNew = (version: string): Problem => ({
  code: 'cli.too_new',
  message: `scratchflow ${version} uses a newer protocol than this extension understands.`,
  hint: 'update the extension',
  retryable: false,
});

export const crashed = (how: string): Problem => ({
  code: 'cli.crashed',
  message: `scratchflow ended without a result (${how}).`,
  hint: 'the log has what it printed; trying again is safe',
  retryable: true,
});

export const garbage = (): Problem => ({
  code: 'cli.broken',
  message:
    'The program that answered is not scratchflow, or not a version that this extension understands.',
  hint: INSTALL,
  retryable: false,
});

export const silent = (seconds: number): Problem => ({
  code: 'cli.silent',
  message: `scratchflow did not answer within ${seconds} seconds and was stopped.`,
  hint: 'the log has the command; trying again is safe',
  retryable: true,
});

export const CANCELLED = 'Cancelled.';

/** What became of what was under way, where the CLI says it. */
export const cancelled = (message = CANCELLED): Problem => ({
  code: 'cli.cancelled',
  message,
  hint: '',
  retryable: false,
});

/** Whether only the user can log in: with a password, a passphrase or a second factor, in a terminal. */
export function needsLogin({ code }: Problem): boolean {
  return code === 'auth.needed';
}
