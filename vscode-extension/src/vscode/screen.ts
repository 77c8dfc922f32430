// Everything that is on the screen all the time: status bar, side bar, dashboard; and when it is redrawn.

import * as vscode from 'vscode';
import type { Cli } from '../cli/cli';
import { dashboard, type Dashboard } from '../dashboard/model';
import { NEEDS_ANOTHER_CLI, needsLogin, problemOf } from '../cli/problem';
import type { NodesShown, SnapshotsListed, StatusShown } from '../cli/protocol';
import {
  hasOtherProfiles,
  isBack,
  isHere,
  phaseOf,
  type Picture,
  type Store,
} from '../state/state';
import { allocationRows } from '../views/allocation';
import { Aging, Listing } from '../views/listing';
import { nodeRows } from '../views/nodes';
import type { Row } from '../views/row';
import { serviceRows } from '../views/services';
import { snapshotRows } from '../views/snapshots';
import { statusBar } from '../views/statusBar';
import { usageRows } from '../views/usage';
import { ClustersView } from './clustersView';
import { DashboardPanel } from './dashboardPanel';
import { JobsView } from './jobsView';
import { RowTree } from './tree';

/** Each time is a step of the job on every node. */
const USAGE_MS = 60_000;
const ALARMS = {
  none: undefined,
  warning: new vscode.ThemeColor('statusBarItem.warningBackground'),
  error: new vscode.ThemeColor('statusBarItem.errorBackground'),
};

export class Screen {
  readonly jobs: JobsView;
  readonly clusters: ClustersView;
  private readonly bar: vscode.StatusBarItem;
  private readonly panel: DashboardPanel;
  private readonly snapshots: Listing<SnapshotsListed>;
  private readonly nodes: Listing<NodesShown>;
  private readonly usage: Aging<StatusShown>;
  private readonly trees: Record<string, RowTree>;

  constructor(
    extension: vscode.Uri,
    private readonly cli: Cli,
    private readonly store: Store,
  ) {
    this.bar = vscode.window.createStatusBarItem('status', vscode.StatusBarAlignment.Left, 50);
    this.bar.name = 'scratchflow';
    this.bar.command = 'scratchflow.menu';
    this.snapshots = new Listing(async () => (await cli.run('snapshots list')).data);
    this.nodes = new Listing(async () => (await cli.run('nodes')).data);
    const ask = async () => (await cli.run('status', { args: ['--usage'] })).data;
    this.usage = new Aging(ask, USAGE_MS, Date.now);
    this.jobs = new JobsView(cli, store);
    this.clusters = new ClustersView(cli, store);
    this.panel = new DashboardPanel(extension, () => this.makeDashboard());
    this.trees = {
      'scratchflow.allocationView': this.tree((picture) => allocationRows(picture, Date.now())),
      'scratchflow.usageView': new RowTree(() => this.whenKnown(() => this.usageRows())),
      'scratchflow.servicesView': this.tree(serviceRows),
      'scratchflow.snapshotsView': new RowTree(() => this.whenKnown(() => this.snapshotRows())),
      'scratchflow.nodesView': new RowTree(() => this.whenKnown(() => this.nodeRows())),
    };
  }

  /** Puts it on the screen; returns what takes it off again. */
  show(): vscode.Disposable {
    const views = Object.entries(this.trees).map(([id, tree]) =>
      vscode.window.registerTreeDataProvider(id, tree),
    );
    this.bar.show();
    this.redraw();
    const more = [this.jobs.show(), this.clusters.show()];
    return vscode.Disposable.from(this.bar, ...views, ...more, this.panel);
  }

  /** Whoever opens it wants to know what is free now. */
  showDashboard(): void {
    const { picture } = this.store;
    if (picture.status && !isHere(picture)) this.freshNodes().catch(() => undefined);
    this.panel.show();
  }

  /** The picture changed: redraws what depends on what changed, asks again what is out of date. */
  changed(now: Picture, before: Picture): void {
    const isKnownNow = phaseOf(now) !== 'unknown' && phaseOf(before) === 'unknown';
    // What could not be asked says so until it is asked again.
    const isFresh = isKnownNow || isBack(now, before);
    if (isFresh || snapshotMark(now) !== snapshotMark(before)) {
      this.forget('snapshots');
      // `submit` takes one of what changed.
      this.jobs.refresh();
    }
    this.jobs.look(now);
    if (clustersMark(now) !== clustersMark(before)) this.clusters.redraw();
    if (isFresh || jobMark(now) !== jobMark(before)) {
      this.forget('nodes');
      this.forget('usage');
    }
    // Only when the watch has spoken: it does not in windows that nobody looks at. Nor is a view asked that is hidden.
    if (now.seenMs !== before.seenMs) this.trees['scratchflow.usageView']?.redraw();
    this.redraw();
  }

  /** The nodes, asked again once for all who show them. */
  freshNodes(): Promise<NodesShown> {
    this.nodes.renew();
    this.trees['scratchflow.nodesView']?.redraw();
    void this.panel.update();
    return this.nodes.get();
  }

  /** Everything is asked again. */
  refresh(): void {
    this.forget('snapshots');
    this.forget('nodes');
    this.forget('usage');
    this.jobs.refresh();
    this.redraw();
  }

  /** Time has passed, or more. */
  redraw(): void {
    const { picture } = this.store;
    const { text, tooltip, alarm } = statusBar(picture, Date.now());
    this.bar.text = text;
    this.bar.tooltip = tooltip;
    this.bar.backgroundColor = ALARMS[alarm];
    setContext('phase', phaseOf(picture));
    setContext('trouble', troubleOf(picture));
    setContext('isHere', isHere(picture));
    setContext('hasOtherProfiles', hasOtherProfiles(picture));
    setContext('hasWorkspace', picture.status?.workspace.exists === true);
    setContext('hasServices', serviceRows(picture).length > 0);
    // While another profile is asked, no view goes and comes back.
    if (picture.asking === undefined) tellViews(picture);
    this.trees['scratchflow.allocationView']?.redraw();
    this.trees['scratchflow.servicesView']?.redraw();
    void this.panel.update();
  }

  private forget(what: 'snapshots' | 'nodes' | 'usage'): void {
    this[what].forget();
    this.trees[`scratchflow.${what}View`]?.redraw();
  }

  private tree(rows: (picture: Picture) => readonly Row[]): RowTree {
    return new RowTree(() => Promise.resolve(rows(this.store.picture)));
  }

  /** Nothing is asked of the CLI before the one long-lived watch has answered. */
  private async whenKnown(rows: () => Promise<readonly Row[]>): Promise<readonly Row[]> {
    return this.store.picture.status ? rows() : [];
  }

  private async snapshotRows(): Promise<readonly Row[]> {
    const { snapshots } = await this.snapshots.get();
    // That there are none is said only when that is the answer.
    setContext('knowsSnapshots', true);
    return snapshotRows(this.cli, snapshots, Date.now());
  }

  private async nodeRows(): Promise<readonly Row[]> {
    if (isHere(this.store.picture)) return [];
    return nodeRows((await this.nodes.get()).nodes);
  }

  private async usageRows(): Promise<readonly Row[]> {
    if (phaseOf(this.store.picture) !== 'held') return [];
    return usageRows((await this.usage.get()).usage ?? []);
  }

  private async makeDashboard(): Promise<Dashboard> {
    const { picture } = this.store;
    const isKnown = picture.status !== undefined;
    const [snapshots, nodes] = await Promise.all([
      isKnown ? this.snapshots.get().then((listed) => listed.snapshots, problemOf) : undefined,
      isKnown && !isHere(picture)
        ? this.nodes.get().then((shown) => shown.nodes, problemOf)
        : undefined,
    ]);
    return dashboard({ picture, snapshots, nodes, nowMs: Date.now() });
  }
}

function snapshotMark({ status }: Picture): string {
  return `${status?.profile} ${status?.snapshots.last_id} ${status?.snapshots.count}`;
}

function jobMark({ status }: Picture): string {
  return `${status?.profile} ${status?.allocation?.job_id} ${status?.allocation?.state}`;
}

/** Which of the clusters is this window's, and whether there are homes to sync. */
function clustersMark({ status, asking }: Picture): string {
  return `${status?.profile} ${asking} ${status?.syncs}`;
}

/** What there is to show at all. */
function tellViews({ status }: Picture): void {
  setContext('hasCli', status !== undefined);
  setContext('hasCluster', Boolean(status?.alias));
  setContext('hasClusters', (status?.profiles ?? 0) > 1);
  setContext('syncs', status?.syncs === true);
}

function troubleOf({ link }: Picture): string {
  if (link.is !== 'stopped') return '';
  if (needsLogin(link.problem)) return 'login';
  return NEEDS_ANOTHER_CLI.has(link.problem.code) ? 'cli' : 'other';
}

function setContext(key: string, value: unknown): void {
  void vscode.commands.executeCommand('setContext', `scratchflow.${key}`, value);
}
