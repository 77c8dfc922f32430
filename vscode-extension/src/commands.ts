// What each command does: the flows by the name of their command.

import { allocate } from './flows/allocate';
import { attach } from './flows/attach';
import { autobackup } from './flows/autobackup';
import { clear } from './flows/clear';
import { moveTo } from './flows/clusters';
import { guarded, type Context } from './flows/context';
import { doctor } from './flows/doctor';
import { fileHistory } from './flows/history';
import { install, type Places } from './flows/install';
import * as jobs from './flows/jobs';
import { login } from './flows/login';
import { menu } from './flows/menu';
import { showNodes } from './flows/nodes';
import { openWorkspace } from './flows/open';
import { withdraw } from './flows/queue';
import { tune } from './flows/remoteSsh';
import { switchProfile } from './flows/profile';
import * as serving from './flows/serve';
import { setup } from './flows/setup';
import { shell } from './flows/shell';
import { openSettings } from './flows/settingsFile';
import * as snapshots from './flows/snapshots';
import * as homes from './flows/sync';
import { hop, up } from './flows/up';
import { backup, create, restore } from './flows/workspace';
import type { JobRef } from './format/jobText';
import type { ClusterRef, ConflictRef } from './format/syncText';
import type { Row } from './views/row';

type Handler = (...args: never[]) => unknown;

/** What is on the screen and reacts to commands. */
export interface Screen {
  readonly showDashboard: () => void;
}

export function handlers(
  context: Context,
  screen: Screen,
  places: Places,
): Record<string, Handler> {
  const { editor } = context;
  return {
    setup: guarded(context, setup),
    up: guarded(context, up),
    allocate: guarded(context, allocate),
    create: guarded(context, create),
    restore: guarded(context, (given) => restore(given)),
    backup: guarded(context, backup),
    autobackup: guarded(context, autobackup),
    hop: guarded(context, hop),
    clear: guarded(context, clear),
    withdraw: guarded(context, withdraw),
    open: guarded(context, openWorkspace),
    status: screen.showDashboard,
    nodes: guarded(context, showNodes),
    attach: guarded(context, attach),
    shell: guarded(context, shell),
    tensorboard: guarded(context, serving.openTensorboard),
    jupyter: guarded(context, serving.openJupyter),
    tunnel: guarded(context, serving.forwardPort),
    fileHistory: guarded(context, (given, uri?: { path: string }) => fileHistory(given, uri?.path)),
    login: guarded(context, (given, again?: () => Promise<void>) => login(given, again)),
    doctor: guarded(context, doctor),
    config: guarded(context, openSettings),
    install: guarded(context, (given) => install(given, places)),
    remoteSsh: guarded(context, tune),
    menu: guarded(context, menu),
    log: () => editor.showLog(),
    refresh: context.reconnect,
    ...viewHandlers(context),
    ...rowHandlers(context),
    ...jobHandlers(context),
    ...clusterHandlers(context),
  };
}

/** What brings a view of the side bar to the front. */
function viewHandlers({ editor, refreshJobs }: Context): Record<string, Handler> {
  return {
    clusters: () => editor.execute('scratchflow.clustersView.focus'),
    jobs: () => {
      // Whoever asks for them wants to see them as they are now.
      refreshJobs();
      return editor.execute('scratchflow.jobsView.focus');
    },
    snapshots: () => editor.execute('scratchflow.snapshotsView.focus'),
  };
}

/** What the menus of rows offer. */
function rowHandlers(context: Context): Record<string, Handler> {
  return {
    'service.open': onRow(context, serving.openService),
    'service.copy': onRow(context, serving.copyService),
    'service.stop': onRow(context, serving.stopService),
    'snapshot.restore': onRow(context, snapshots.restoreSnapshot),
    'snapshot.diff': onRow(context, snapshots.diffSnapshot),
    'snapshot.browse': onRow(context, snapshots.browseSnapshot),
    'snapshot.verify': onRow(context, snapshots.verifySnapshot),
    'snapshot.copy': onRow(context, snapshots.copySnapshot),
    'file.open': onRow(context, snapshots.openFile),
    'file.restore': onRow(context, snapshots.restoreFile),
    'file.compare': onRow(context, snapshots.compareFile),
  };
}

/** From a row's menu, or from the palette without one. */
function jobHandlers(context: Context): Record<string, Handler> {
  return {
    'job.show': onJob(context, jobs.showJob),
    'job.logs': onJob(context, jobs.followLog),
    'job.rerun': onJob(context, jobs.rerunJob),
    'job.rerunFailed': onJob(context, jobs.rerunFailed),
    'job.cancel': onJobs(context, jobs.cancelJobs),
    'job.debug': onJob(context, jobs.debugTask),
    'job.compare': onJobs(context, jobs.compareJobs),
    'job.copy': onJob(context, jobs.copyJob),
  };
}

/** What concerns other profiles than the one in use. */
function clusterHandlers(context: Context): Record<string, Handler> {
  return {
    switchProfile: onCluster(context, switchProfile),
    sync: onCluster(context, homes.syncHomes),
    lookForConflicts: onCluster(context, homes.lookForConflicts),
    'cluster.move': onRow(context, moveTo),
    'conflict.keep': onRow(context, homes.keepOne),
  };
}

/** From a row of the view Clusters, or from elsewhere without one. */
function onCluster(
  context: Context,
  flow: (context: Context, ref?: ClusterRef) => Promise<void>,
): Handler {
  return guarded(context, (given, row?: Row) => flow(given, row?.ref as ClusterRef | undefined));
}

function onJob(context: Context, flow: (context: Context, ref?: JobRef) => Promise<void>): Handler {
  return guarded(context, (given, row?: Row) => flow(given, row?.ref as JobRef | undefined));
}

/** All rows that are selected, when the menu is that of one of them. */
function onJobs(
  context: Context,
  flow: (context: Context, refs: readonly JobRef[]) => Promise<void>,
): Handler {
  return guarded(context, (given, row?: Row, selected?: readonly Row[]) => {
    const rows = selected ?? (row ? [row] : []);
    return flow(
      given,
      rows.flatMap(({ ref }) => (ref === undefined ? [] : [ref as JobRef])),
    );
  });
}

type Ref = snapshots.SnapshotRef & snapshots.FileRef & serving.ServiceRef & ConflictRef;
type OnRef = (context: Context, ref: Ref) => Promise<void>;

/** A row's menu gives the row; the flow wants what the row stands for. */
function onRow(context: Context, flow: OnRef): Handler {
  return guarded(context, (given, row: Row | undefined) =>
    row?.ref === undefined ? Promise.resolve() : flow(given, row.ref as Ref),
  );
}
