import { expect, test } from 'vitest';
import { allowed } from '../../src/cli/environment';

test('the CLI sees what it needs and nothing of the editor', () => {
  const kept = allowed({
    HOME: '/home/alice',
    PATH: '/bin',
    SSH_AUTH_SOCK: '/run/agent',
    LC_ALL: 'C',
    SCRATCHFLOW_CONFIG: '/c',
    NODE_OPTIONS: '--require=evil',
    LD_PRELOAD: 'evil.so',
    PYTHONPATH: '/evil',
    VSCODE_PID: '1',
  });
  expect(Object.keys(kept)).toEqual([
    'HOME',
    'PATH',
    'SSH_AUTH_SOCK',
    'LC_ALL',
    'SCRATCHFLOW_CONFIG',
  ]);
});
