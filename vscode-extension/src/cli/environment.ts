// Which of the editor's environment variables the CLI gets: not the editor's own (NODE_OPTIONS, ELECTRON_…,
// VSCODE_…), and none that a terminal or a task left there.

const NAMES = new Set([
  ...['HOME', 'USER', 'LOGNAME', 'PATH', 'SHELL', 'LANG', 'LANGUAGE', 'TZ', 'TMPDIR', 'TERM'],
  ...['SSH_AUTH_SOCK', 'SSH_AGENT_PID', 'SSH_ASKPASS', 'SSH_ASKPASS_REQUIRE', 'DISPLAY'],
  ...[
    'WAYLAND_DISPLAY',
    'KRB5CCNAME',
    'KRB5_CONFIG',
    'NO_COLOR',
    'BROWSER',
    'DBUS_SESSION_BUS_ADDRESS',
  ],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'],
]);
const PREFIXES = ['LC_', 'XDG_', 'SCRATCHFLOW_', 'SLURM_', 'PIP_', 'UV_'];

/** The part of the environment that the CLI and its installation need. */
export function allowed(environment: NodeJS.ProcessEnv): Record<string, string> {
  const kept = Object.entries(environment).filter(
    (pair): pair is [string, string] => pair[1] !== undefined && isAllowed(pair[0]),
  );
  return Object.fromEntries(kept);
}

function isAllowed(name: string): boolean {
  return NAMES.has(name) || PREFIXES.some((prefix) => name.startsWith(prefix));
}
