import { expect, test } from 'vitest';
import { opensSshHosts } from '../../src/vscode/sshHosts';

test('whatever connects to ssh hosts counts as Remote-SSH, by whichever name', () => {
  const events = [
    'onCommand:opensshremotes.openEmptyWindow',
    'onResolveRemoteAuthority:ssh-remote',
  ];
  expect(opensSshHosts({ name: 'windsurf-remote-openssh', activationEvents: events })).toBe(true);
});

test.each([
  [{ activationEvents: ['onResolveRemoteAuthority:wsl'] }],
  [{ activationEvents: 'onResolveRemoteAuthority:ssh-remote' }],
  [{}],
  [null],
])('nothing else does: %j', (manifest) => {
  expect(opensSshHosts(manifest)).toBe(false);
});
