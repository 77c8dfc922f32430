// VS Code's own server on a compute node, as code-server ships it: brought there and started through the ssh alias, and
// reached by a tunnel. It lies in one directory as Remote-SSH's does: programs, settings and extensions.

import { spawn } from 'node:child_process';
import { basename, dirname } from 'node:path';
import { VSCODE } from './codeServer';
import type { Laptop } from './laptop';
import { until } from './until';

const SETTINGS = {
  'workbench.startupEditor': 'none',
  'workbench.tips.enabled': false,
  'telemetry.telemetryLevel': 'off',
  'extensions.ignoreRecommendations': true,
  'update.mode': 'none',
  'git.enabled': false,
  'security.workspace.trust.enabled': false,
  // Draws a terminal's text as text, which can be read here.
  'terminal.integrated.gpuAcceleration': 'off',
};

/** Takes files out of the page cache, as on a node that has not read them yet. */
const FORGET = `import os, sys
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        path = os.path.join(folder, name)
        if os.path.isfile(path) and not os.path.islink(path):
            fd = os.open(path, os.O_RDONLY)
            os.fdatasync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)
`;

export class NodeServer {
  private readonly directory: string;

  /** `place` is where its directory lies, `socket` is where it listens: no other user of the node gets there. */
  constructor(
    private readonly laptop: Laptop,
    place: string,
    private readonly socket: string,
  ) {
    this.directory = `${place}/.node-editor`;
  }

  /** Copies it onto the node, together with the Node that runs it. */
  async bring(): Promise<void> {
    const { execPath } = process;
    const both = ['-C', VSCODE, '.', '-C', dirname(execPath), basename(execPath)];
    const tar = spawn('tar', ['-c', '-f', '-', '--owner=0', '--group=0', ...both], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const unpack = `umask 077; mkdir -p ${this.directory}/bin && tar -C ${this.directory}/bin -xo`;
    await this.laptop.pipeToNode(tar.stdout, unpack);
  }

  /** Starts it; says the number of its process. */
  async start(): Promise<number> {
    const { directory, socket } = this;
    const program = `${directory}/bin/${basename(process.execPath)} ${directory}/bin/out/server-main.js`;
    const options =
      '--accept-server-license-terms --without-connection-token --disable-update-check ' +
      `--disable-telemetry --socket-path ${socket} --server-data-dir ${directory}`;
    const script =
      `umask 077; mkdir -p ${directory}/data/User; rm -f ${socket}; ` +
      `echo '${JSON.stringify(SETTINGS)}' > ${directory}/data/User/settings.json; ` +
      // No marketplace: the server would ask one at every start.
      `EXTENSIONS_GALLERY={} setsid ${program} ${options} > ${directory}/log 2>&1 < /dev/null & echo $!`;
    return Number(await this.laptop.onNode(script));
  }

  /** Ends it with all that it started. */
  async stop(): Promise<void> {
    await this.laptop.onNode(`pkill -f '^${this.directory}/bin/'; true`);
    await until('the server is gone', async () => {
      const left = await this.laptop.onNode(`pgrep -f '^${this.directory}/bin/'; true`);
      return left === '';
    });
  }

  /** Leaves nothing of it there. */
  async remove(): Promise<void> {
    await this.laptop.onNode(`rm -rf ${this.directory}`);
  }

  async forget(): Promise<void> {
    await this.laptop.onNode(`python3 -c '${FORGET}' ${this.directory}/bin`);
  }

  async log(): Promise<string> {
    return this.laptop.onNode(`tail -n 20 ${this.directory}/log`);
  }
}

/** The local port that leads to the socket, also after a move to another node. */
export async function tunnelTo(laptop: Laptop, socket: string): Promise<string> {
  const lines = (await laptop.typed('tunnel', socket, '--json')).trim().split('\n');
  const summary = JSON.parse(lines.at(-1) ?? '') as { data: { tunnel: { local_port: number } } };
  return `http://127.0.0.1:${summary.data.tunnel.local_port}`;
}

export async function answers(url: string): Promise<void> {
  await until(`${url} answers`, () =>
    fetch(`${url}/version`).then(
      (answer) => answer.ok,
      () => false,
    ),
  );
}
