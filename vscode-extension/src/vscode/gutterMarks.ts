// Marks beside the lines of an editor that differ from the last snapshot: the editor compares, we say with what.

import * as vscode from 'vscode';
import type { SnapshotFiles } from '../cli/snapshotFiles';
import { hasWorkspace, originalOf } from '../state/original';
import type { Picture } from '../state/state';
import { placeOf } from './place';
import { snapshotUri } from './snapshotFiles';

/** Whoever edits larger files is not helped by marks, and the old version has to be fetched whole. */
const LARGEST_BYTES = 5 * 1024 ** 2;

export class GutterMarks implements vscode.QuickDiffProvider {
  private control: vscode.SourceControl | undefined;
  private snapshot: string | null | undefined;

  constructor(
    private readonly files: SnapshotFiles,
    private readonly picture: () => Picture,
  ) {}

  /** Comes and goes with the setting and with the workspace; a new snapshot is what is compared with from then on. */
  look(isWanted: boolean): void {
    const folders = vscode.workspace.workspaceFolders ?? [];
    const folder = folders.find(({ uri }) => hasWorkspace(this.picture(), placeOf(uri)));
    if (!isWanted || !folder) {
      this.dispose();
      return;
    }
    const snapshot = this.picture().status?.snapshots.last_id;
    if (this.control && snapshot === this.snapshot) return;
    this.snapshot = snapshot;
    // Made anew: the editor asks for the original once for as long as there is the same source control.
    this.control?.dispose();
    this.control = vscode.scm.createSourceControl('scratchflow', 'scratchflow', folder.uri);
    this.control.inputBox.visible = false;
    this.control.quickDiffProvider = this;
  }

  async provideOriginalResource(uri: vscode.Uri): Promise<vscode.Uri | undefined> {
    const where = originalOf(this.picture(), placeOf(uri));
    if (!where) return undefined;
    // What was not there yet, and what cannot be had now, has no marks: no reason to disturb anybody.
    const entry = await this.files.entry(where).catch(() => undefined);
    if (entry?.kind !== 'file' || entry.size > LARGEST_BYTES) return undefined;
    return snapshotUri(where);
  }

  dispose(): void {
    this.control?.dispose();
    this.control = undefined;
  }
}
