// The view Clusters: every profile, and beneath what the last sync left.

import * as vscode from 'vscode';
import type { Cli } from '../cli/cli';
import type { SyncRecalled } from '../cli/protocol';
import { moment } from '../format/words';
import type { Store } from '../state/state';
import { syncRows } from '../views/clusters';
import { Everywhere } from '../views/everywhere';
import { Listing, problemRow } from '../views/listing';
import type { Row } from '../views/row';
import { RowTree } from './tree';

export class ClustersView {
  private readonly everywhere: Everywhere;
  private readonly synced: Listing<SyncRecalled>;
  private readonly tree = new RowTree(() => this.rows());
  private view: vscode.TreeView<Row> | undefined;
  private syncs = false;

  constructor(
    cli: Cli,
    private readonly store: Store,
  ) {
    this.everywhere = new Everywhere({
      ask: async () => (await cli.run('status --all', { withoutProfile: true })).data,
      changed: () => this.redraw(),
      now: Date.now,
    });
    this.synced = new Listing(async () => (await cli.run('sync --last')).data);
  }

  show(): vscode.Disposable {
    const options = { treeDataProvider: this.tree };
    const view = vscode.window.createTreeView('scratchflow.clustersView', options);
    this.view = view;
    const listening = view.onDidChangeVisibility(() => {
      if (view.visible && this.everywhere.isOld()) this.refresh();
    });
    return vscode.Disposable.from(view, listening);
  }

  /** Everything is asked again; for a hidden view when it is seen again. */
  refresh(): void {
    this.everywhere.renew();
    this.refreshSync();
  }

  /** A sync from here ended: what it left is known without asking a cluster. */
  refreshSync(): void {
    this.synced.forget();
    this.redraw();
  }

  /** What is known is shown anew. */
  redraw(): void {
    this.tree.redraw();
  }

  private async rows(): Promise<readonly Row[]> {
    const { status, asking } = this.store.picture;
    const own = status?.profile ?? asking;
    // Nothing is asked of the CLI before the one long-lived watch has answered; while another profile is asked, all stays.
    if (own === undefined) return [];
    if (status) this.syncs = status.syncs === true;
    const clusters = this.everywhere.rows(own);
    this.describe();
    return [...clusters, ...(this.syncs ? await this.syncRows() : [])];
  }

  /** What is wrong with `[sync]` hides no cluster. */
  private async syncRows(): Promise<readonly Row[]> {
    try {
      return syncRows(await this.synced.get(), Date.now());
    } catch (error) {
      return [problemRow(error)];
    }
  }

  private describe(): void {
    const { asOfMs } = this.everywhere;
    if (!this.view || asOfMs === undefined) return;
    this.view.description = `as of ${moment(new Date(asOfMs).toISOString(), asOfMs)}`;
  }
}
