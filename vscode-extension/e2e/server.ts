// A private code-server on loopback with our extension in it. All that it writes lies in one directory.

import { spawn, type ChildProcess } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import { ENTRY } from './codeServer';
import { until } from './until';

export interface Wishes {
  /** The user's settings, over what every test wants. */
  readonly settings?: Record<string, unknown>;
  readonly env?: Record<string, string>;
  /** Files of the folder that is opened. */
  readonly files?: Record<string, string>;
}

const SETTINGS = {
  'workbench.startupEditor': 'none',
  'workbench.tips.enabled': false,
  'telemetry.telemetryLevel': 'off',
  'extensions.autoUpdate': false,
  'extensions.autoCheckUpdates': false,
  'extensions.ignoreRecommendations': true,
  'update.mode': 'none',
  'git.enabled': false,
  'breadcrumbs.enabled': false,
  'security.workspace.trust.enabled': false,
  'window.commandCenter': false,
  'workbench.layoutControl.enabled': false,
  'workbench.reduceMotion': 'on',
  // A browser has no extension host of its own: for these tests alone ours runs beside the server.
  'remote.extensionKind': { 'scratchflow.scratchflow': ['workspace'] },
};

export class Server {
  readonly root = mkdtempSync(join(tmpdir(), 'scratchflow-e2e-'));
  readonly folder = join(this.root, 'folder');
  readonly home = join(this.root, 'home');
  url = '';
  private child: ChildProcess | undefined;

  async start({ settings = {}, env = {}, files = {} }: Wishes): Promise<void> {
    for (const name of ['folder', 'home', 'data/User', 'tmp'])
      mkdirSync(join(this.root, name), { recursive: true });
    this.writeFiles(files);
    this.writeSettings(settings);
    const port = await freePort();
    const log = openSync(join(this.root, 'server.log'), 'w');
    const args = [
      ...['--user-data-dir', join(this.root, 'data'), '--extensions-dir', inject('extensions')],
      ...['--auth', 'none', '--bind-addr', `127.0.0.1:${port}`, '--disable-telemetry'],
      ...['--disable-update-check', '--disable-getting-started-override'],
    ];
    // A process group of its own: the extension host outlives the server by seconds otherwise.
    this.child = spawn(process.execPath, [ENTRY, ...args], {
      env: this.environment(env),
      stdio: ['ignore', log, log],
      detached: true,
    });
    this.url = `http://127.0.0.1:${port}`;
    await until('code-server answers', () =>
      fetch(`${this.url}/healthz`).then(
        (answer) => answer.ok,
        () => false,
      ),
    );
  }

  writeSettings(settings: Record<string, unknown>): void {
    const path = join(this.root, 'data/User/settings.json');
    writeFileSync(path, JSON.stringify({ ...SETTINGS, ...settings }));
  }

  writeFiles(files: Record<string, string>): void {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(join(this.folder, name, '..'), { recursive: true });
      writeFileSync(join(this.folder, name), text);
    }
  }

  /** What went wrong, for a test that failed. */
  log(): string {
    return readFileSync(join(this.root, 'server.log'), 'utf8').split('\n').slice(-20).join('\n');
  }

  async stop(keepIn?: string): Promise<void> {
    const { child } = this;
    if (child?.pid !== undefined && child.exitCode === null) {
      const gone = new Promise((done) => child.once('exit', done));
      process.kill(-child.pid, 'SIGKILL');
      await gone;
    }
    if (keepIn !== undefined) cpSync(join(this.root, 'data/logs'), keepIn, { recursive: true });
    rmSync(this.root, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }

  private environment(env: Record<string, string>): Record<string, string> {
    const kept = Object.entries(process.env).filter(([name]) =>
      ['PATH', 'LANG', 'USER', 'LOGNAME'].includes(name),
    );
    return {
      ...(Object.fromEntries(kept) as Record<string, string>),
      HOME: this.home,
      TMPDIR: join(this.root, 'tmp'),
      XDG_RUNTIME_DIR: join(this.root, 'tmp'),
      EXTENSIONS_GALLERY: '{}', // no marketplace: the server would ask one at every start
      ...env,
    };
  }
}

function freePort(): Promise<number> {
  return new Promise((done, failed) => {
    const server = createServer();
    server.once('error', failed);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => done(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
