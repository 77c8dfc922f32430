// Which extension opens windows on ssh hosts. VS Code has Remote - SSH; VSCodium, Cursor, Windsurf, Antigravity and
// others bring their own, under names of their own. What all of them have in common is what they declare. Pure.

const RESOLVES = 'onResolveRemoteAuthority:ssh-remote';

/** Whether an extension's manifest says that it connects to `ssh-remote+HOST`. */
export function opensSshHosts(manifest: unknown): boolean {
  if (typeof manifest !== 'object' || manifest === null) return false;
  const events = 'activationEvents' in manifest ? manifest.activationEvents : undefined;
  return Array.isArray(events) && events.includes(RESOLVES);
}
