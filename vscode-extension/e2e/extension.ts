// Our .vsix, installed once for all files of tests: each server reads it from the same directory.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { TestProject } from 'vitest/node';
import { ENTRY } from './codeServer';

const VSIX = resolve('scratchflow.vsix');

declare module 'vitest' {
  export interface ProvidedContext {
    /** The directory that it is installed in. */
    extensions: string;
  }
}

export default function setup(project: TestProject): () => void {
  const directory = mkdtempSync(join(tmpdir(), 'scratchflow-e2e-extension-'));
  const extensions = join(directory, 'extensions');
  const options = ['--user-data-dir', join(directory, 'data'), '--extensions-dir', extensions];
  execFileSync(process.execPath, [ENTRY, ...options, '--install-extension', VSIX], {
    env: { PATH: process.env.PATH, HOME: directory, EXTENSIONS_GALLERY: '{}' },
    stdio: 'pipe',
  });
  project.provide('extensions', extensions);
  return () => rmSync(directory, { recursive: true, force: true });
}
