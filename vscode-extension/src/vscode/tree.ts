// Draws rows as a tree view.

import * as vscode from 'vscode';
import { problemRow } from '../views/listing';
import { spokenText, type Row } from '../views/row';
import { SNAPSHOT_SCHEME } from './snapshotFiles';

const TINTS = {
  good: 'charts.green',
  warning: 'charts.yellow',
  bad: 'charts.red',
} as const;

export class RowTree implements vscode.TreeDataProvider<Row> {
  private readonly changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.changed.event;

  constructor(private readonly top: () => Promise<readonly Row[]>) {}

  redraw(): void {
    this.changed.fire(undefined);
  }

  async getChildren(row?: Row): Promise<Row[]> {
    try {
      return [...(await (row?.children ?? this.top)())];
    } catch (error) {
      return [problemRow(error)];
    }
  }

  getTreeItem(row: Row): vscode.TreeItem {
    const { Collapsed, Expanded, None } = vscode.TreeItemCollapsibleState;
    const opened = row.isOpen ? Expanded : Collapsed;
    const item = new vscode.TreeItem(row.label, row.children ? opened : None);
    if (row.id !== undefined) item.id = row.id;
    if (row.description !== undefined) item.description = row.description;
    if (row.tooltip !== undefined) item.tooltip = row.tooltip;
    item.accessibilityInformation = { label: spokenText(row) };
    if (row.kind !== undefined) item.contextValue = row.kind;
    putIcon(item, row);
    if (row.command !== undefined) {
      const given = row.ref === undefined ? {} : { arguments: [row] };
      item.command = { command: row.command, title: row.label, ...given };
    }
    return item;
  }
}

function putIcon(item: vscode.TreeItem, { icon, tint, file }: Row): void {
  if (icon !== undefined) item.iconPath = iconOf(icon, tint);
  if (file === undefined) return;
  item.iconPath = vscode.ThemeIcon.File;
  item.resourceUri = vscode.Uri.from({ scheme: SNAPSHOT_SCHEME, path: `/${file}` });
}

function iconOf(icon: string, tint: Row['tint']): vscode.ThemeIcon {
  return tint === undefined
    ? new vscode.ThemeIcon(icon)
    : new vscode.ThemeIcon(icon, new vscode.ThemeColor(TINTS[tint]));
}
