// A CLI for tests: a directory with the fake program and what it is to play.

import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import { Cli, type Surroundings } from '../src/cli/cli';

export type Step = Record<string, unknown>;
export type Play = Record<string, { steps: Step[]; onSigint?: Step[] }>;

export interface Call {
  readonly pid: number;
  readonly argv?: string[];
  readonly cwd?: string;
  readonly env?: string[];
  readonly signal?: string;
}

export const summary = (data: unknown): Step => ({
  line: { type: 'summary', data, warnings: 0, exit_code: 0 },
});

export const failure = (code: string, message: string, hint = '', retryable = false): Step => ({
  line: { type: 'error', code, message, hint, retryable, exit_code: 1 },
});

export const answering = (data: unknown): { steps: Step[] } => ({
  steps: [{ hello: true }, summary(data)],
});

export const playing = (recording: string): { steps: Step[] } => ({ steps: [{ recording }] });

/** Lays the fake out in a directory; a function that reads back how it was called comes with it. */
export function layOut(directory: string, play: Play) {
  const file = join(directory, 'scratchflow');
  if (!existsSync(file)) symlinkSync(resolve(import.meta.dirname, 'fake-cli.mjs'), file);
  chmodSync(file, 0o755);
  const replay = (other: Play) =>
    writeFileSync(join(directory, 'play.json'), JSON.stringify(other));
  replay(play);
  return { file, replay, calls: () => readCalls(directory) };
}

function readCalls(directory: string): Call[] {
  const path = join(directory, 'calls.jsonl');
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as Call);
}

export function fakeCli(play: Play, around: Partial<Surroundings> = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'fake-cli-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const laid = layOut(directory, play);
  const log: string[] = [];
  const cli = new Cli({
    locate: () => Promise.resolve(laid.file),
    globalArgs: () => [],
    log: (line) => log.push(line),
    ...around,
  });
  return { ...laid, cli, log, directory };
}
