// Where code-server is: scripts/test says that in SCRATCHFLOW_CODE_SERVER.

import { join, resolve } from 'node:path';

const PACKAGE = join(
  process.env.SCRATCHFLOW_CODE_SERVER ?? resolve('../.cache/code-server'),
  'node_modules/code-server',
);
export const ENTRY = join(PACKAGE, 'out/node/entry.js');
/** VS Code's own server, which it ships. */
export const VSCODE = join(PACKAGE, 'lib/vscode');
