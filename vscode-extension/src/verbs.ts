// The one table of commands and the CLI's verbs. `Verb` is generated from the CLI: a command for a verb
// that it does not have does not compile. package.json lists the same commands, which a test checks.

import type { Verb } from './cli/protocol';

export interface Offer {
  readonly command: string;
  readonly title: string;
  /** What the CLI must know for it; none for what the extension does alone. */
  readonly verb: Verb | undefined;
}

const offer = (name: string, title: string, verb: Verb | undefined): Offer => ({
  command: `scratchflow.${name}`,
  title,
  verb,
});

export const OFFERS: readonly Offer[] = [
  offer('setup', 'Set Up Cluster', 'setup'),
  offer('up', 'Start Working', 'up'),
  offer('allocate', 'Allocate Compute Node', 'allocate'),
  offer('create', 'Create Workspace', 'create'),
  offer('restore', 'Initialize Scratch Space', 'restore'),
  offer('backup', 'Run Backup', 'backup'),
  offer('autobackup', 'Auto Backup', 'autobackup'),
  offer('hop', 'Move to Another Node', 'hop'),
  offer('clear', 'Clear Tmux', 'clear'),
  offer('withdraw', 'Withdraw Request', 'clear'),
  offer('open', 'Open Workspace', 'open'),
  offer('status', 'Show Status', 'status'),
  offer('nodes', 'Show Nodes', 'nodes'),
  offer('attach', 'Attach Tmux', 'attach'),
  offer('shell', 'Open Shell on Node', 'shell'),
  offer('tensorboard', 'Open TensorBoard', 'serve'),
  offer('jupyter', 'Open Jupyter', 'serve'),
  offer('tunnel', 'Forward Port', 'tunnel'),
  offer('jobs', 'Show Jobs', 'jobs'),
  offer('clusters', 'Show Clusters', 'status'),
  offer('sync', 'Sync Homes', 'sync'),
  offer('lookForConflicts', 'Look for Conflicts', 'sync'),
  offer('snapshots', 'Browse Snapshots', 'snapshots'),
  offer('fileHistory', 'Show File History', 'snapshots'),
  offer('login', 'Log In', 'status'),
  offer('doctor', 'Run Doctor', 'doctor'),
  offer('config', 'Open Settings', 'config'),
  offer('switchProfile', 'Switch Profile in This Window', 'config'),
  offer('install', 'Install Command Line', undefined),
  offer('remoteSsh', 'Tune Remote-SSH', undefined),
  offer('menu', 'Show Menu', undefined),
  offer('log', 'Show Log', undefined),
  offer('refresh', 'Refresh', undefined),
  offer('service.open', 'Open', 'tunnel'),
  offer('service.copy', 'Copy URL', 'tunnel'),
  offer('service.stop', 'Stop', 'serve'),
  offer('cluster.move', 'Move Workspace to This Cluster…', 'hop'),
  offer('conflict.keep', 'Keep One…', 'sync'),
  offer('job.show', 'Show Job', 'jobs'),
  offer('job.logs', 'Follow Log', 'logs'),
  offer('job.rerun', 'Rerun Job…', 'jobs'),
  offer('job.rerunFailed', 'Rerun Failed Tasks…', 'jobs'),
  offer('job.cancel', 'Cancel Job…', 'cancel'),
  offer('job.debug', 'Debug This Task', 'jobs'),
  offer('job.compare', 'Compare Two Jobs', 'jobs'),
  offer('job.copy', 'Copy Job Id', 'jobs'),
  offer('snapshot.restore', 'Restore This Snapshot…', 'restore'),
  offer('snapshot.diff', 'Show What Changed Since…', 'snapshots'),
  offer('snapshot.browse', 'Browse This Snapshot', 'snapshots'),
  offer('snapshot.verify', 'Verify This Snapshot', 'snapshots'),
  offer('snapshot.copy', 'Copy Snapshot Id', 'snapshots'),
  offer('file.open', 'Open This Version', 'snapshots'),
  offer('file.restore', 'Restore This File…', 'restore'),
  offer('file.compare', 'Compare with Workspace', 'snapshots'),
];

/** The command for a verb, for buttons that a hint of the CLI asks for. */
export function offerFor(verb: string): Offer | undefined {
  return OFFERS.find(({ command }) => command === `scratchflow.${verb}`);
}
