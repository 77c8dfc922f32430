// The view Jobs: what it shows, and when it is asked for again.

import * as vscode from 'vscode';
import type { Cli } from '../cli/cli';
import { needsLogin, problemOf } from '../cli/problem';
import type { JobsListed } from '../cli/protocol';
import { Poll } from '../state/poll';
import { isHere, type Picture, type Store } from '../state/state';
import { jobRows } from '../views/jobs';
import { Listing } from '../views/listing';
import type { Row } from '../views/row';
import { RowTree } from './tree';

export class JobsView {
  private readonly jobs: Listing<JobsListed>;
  private readonly poll: Poll;
  private readonly tree = new RowTree(() => this.rows());
  private view: vscode.TreeView<Row> | undefined;

  constructor(
    private readonly cli: Cli,
    private readonly store: Store,
  ) {
    this.jobs = new Listing(() => this.ask());
    this.poll = new Poll({ ask: () => this.refresh(), now: Date.now });
  }

  show(): vscode.Disposable {
    const options = { treeDataProvider: this.tree, canSelectMany: true, showCollapseAll: true };
    const view = vscode.window.createTreeView('scratchflow.jobsView', options);
    this.view = view;
    const listening = view.onDidChangeVisibility(() => this.look(this.store.picture));
    this.look(this.store.picture);
    return vscode.Disposable.from(view, listening, { dispose: () => this.poll.stop() });
  }

  /** While nobody is at the window, nothing is asked. */
  look({ link }: Picture): void {
    this.poll.look(this.view?.visible === true && link.is !== 'paused');
  }

  /** What is shown is out of date; a hidden view is asked for when it is seen again. */
  refresh(): void {
    this.jobs.forget();
    this.tree.redraw();
  }

  /** Asked anew, once for all who show it. */
  fresh(): Promise<JobsListed> {
    this.jobs.renew();
    this.tree.redraw();
    return this.jobs.get();
  }

  private async rows(): Promise<readonly Row[]> {
    const { picture } = this.store;
    // Nothing is asked of the CLI before the one long-lived watch has answered.
    if (!picture.status || isHere(picture)) return [];
    const jobs = await this.jobs.get();
    // That there are none is said only when that is the answer.
    void vscode.commands.executeCommand('setContext', 'scratchflow.knowsJobs', true);
    return jobRows(jobs, Date.now());
  }

  private async ask(): Promise<JobsListed> {
    try {
      const { data } = await this.cli.run('jobs');
      this.poll.answered(data.jobs.some(({ is_open }) => is_open));
      return data;
    } catch (error) {
      const problem = problemOf(error);
      this.poll.failed(problem.retryable && !needsLogin(problem));
      throw error;
    }
  }
}
