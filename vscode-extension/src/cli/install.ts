// Installs the CLI from the wheel that comes with the extension into a venv of the extension's own.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { allowed } from './environment';
import { CliError, type Problem } from './problem';

/** Runs a program to its end; throws an Error with its output when it failed. */
export type RunProgram = (file: string, args: readonly string[]) => Promise<string>;

export interface Installation {
  /** Where the wheel of this extension lies. */
  readonly wheelDirectory: string;
  /** The extension's storage. */
  readonly storage: string;
  readonly run: RunProgram;
  readonly say: (step: string) => void;
}

const PYTHONS = ['python3', 'python3.14', 'python3.13', 'python3.12', 'python3.11', 'python3.10'];
const IS_NEW_ENOUGH = 'import sys, venv; sys.exit(sys.version_info < (3, 10))';
const COMPLETE = '.complete';

/** The installed CLI, or an empty string; an unfinished installation does not count. */
export function installedCli(storage: string, version: string): string {
  const venv = venvOf(storage, version);
  return existsSync(join(venv, COMPLETE)) ? join(venv, 'bin', 'scratchflow') : '';
}

// A venv holds its own path, so it cannot be moved into place when it is done: a mark says so instead.
function venvOf(storage: string, version: string): string {
  return join(storage, `cli-${version}`);
}

export async function install(installation: Installation, version: string): Promise<string> {
  const wheel = await findWheel(installation.wheelDirectory);
  const venv = venvOf(installation.storage, version);
  await rm(venv, { recursive: true, force: true });
  await mkdir(installation.storage, { recursive: true });
  if (await works(installation.run, 'uv', ['--version'])) await withUv(installation, venv, wheel);
  else await withPip(installation, venv, wheel);
  const cli = join(venv, 'bin', 'scratchflow');
  installation.say('trying it');
  await step(installation.run, cli, ['--version']);
  await writeFile(join(venv, COMPLETE), '');
  await removeOthers(installation.storage, venv);
  return cli;
}

async function findWheel(directory: string): Promise<string> {
  const names = await readdir(directory).catch(() => []);
  const wheel = names.find((name) => name.endsWith('.whl'));
  if (wheel === undefined) throw new CliError(problem('this build of the extension has no wheel'));
  return join(directory, wheel);
}

async function withUv({ run, say }: Installation, venv: string, wheel: string): Promise<void> {
  say('making a Python environment');
  await step(run, 'uv', ['venv', '--quiet', '--python', '>=3.10', venv]);
  say('installing scratchflow');
  const python = join(venv, 'bin', 'python');
  await step(run, 'uv', ['pip', 'install', '--quiet', '--python', python, wheel]);
}

async function withPip({ run, say }: Installation, venv: string, wheel: string): Promise<void> {
  const python = await findPython(run);
  say('making a Python environment');
  await step(run, python, ['-m', 'venv', venv]);
  say('installing scratchflow');
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', wheel];
  await step(run, join(venv, 'bin', 'python'), pip);
}

async function findPython(run: RunProgram): Promise<string> {
  for (const python of PYTHONS) {
    if (await works(run, python, ['-c', IS_NEW_ENOUGH])) return python;
  }
  throw new CliError(problem('there is no Python 3.10 or newer', 'install Python, then try again'));
}

async function works(run: RunProgram, file: string, args: readonly string[]): Promise<boolean> {
  return run(file, args).then(
    () => true,
    () => false,
  );
}

async function step(run: RunProgram, file: string, args: readonly string[]): Promise<void> {
  try {
    await run(file, args);
  } catch (error) {
    throw new CliError(problem(error instanceof Error ? lastLine(error.message) : 'unknown'));
  }
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) ?? '';
}

/** The venvs of earlier versions of this extension. */
async function removeOthers(storage: string, kept: string): Promise<void> {
  const others = (await readdir(storage)).filter((name) => name.startsWith('cli-'));
  for (const path of others.map((name) => join(storage, name))) {
    if (path !== kept) await rm(path, { recursive: true, force: true });
  }
}

function problem(reason: string, hint = 'the log has the full output'): Problem {
  const message = `scratchflow could not be installed: ${reason}`;
  return { code: 'install.failed', message, hint, retryable: true };
}

const PATIENCE_MS = 10 * 60_000;

/** Runs programs from PATH in the home directory, and logs each with its errors. */
export function programs(log: (line: string) => void, signal: AbortSignal): RunProgram {
  return (file, args) =>
    new Promise((resolve, reject) => {
      log(`$ ${[file, ...args].join(' ')}`);
      const options = { cwd: homedir(), env: allowed(process.env), timeout: PATIENCE_MS, signal };
      execFile(file, args, options, (error, stdout, stderr) => {
        if (stderr.trim() !== '') log(stderr.trimEnd());
        if (error) reject(new Error(stderr.trim() === '' ? error.message : stderr));
        else resolve(stdout);
      });
    });
}
