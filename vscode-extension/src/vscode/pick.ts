// A list to choose from that is there at once, fills when the answer comes, and may take typed text.

import * as vscode from 'vscode';
import type { Choice, PickOptions } from '../editor';
import { accepted, begun, offered, type Item } from './choices';

export function pick<T>(
  choices: Promise<readonly Choice<T>[]>,
  options: PickOptions,
): Promise<T | string | undefined> {
  const list = vscode.window.createQuickPick<Item<T>>();
  list.title = options.title;
  list.placeholder = options.placeholder;
  list.matchOnDescription = true;
  list.busy = true;
  list.ignoreFocusOut = options.stays ?? false;
  list.show();
  void fill(list, choices, options);
  return new Promise((resolve) => {
    list.onDidAccept(() => {
      const chosen = accepted(list.selectedItems, list.value, options.typed);
      if (!chosen) return;
      resolve(chosen.value);
      list.hide();
    });
    list.onDidHide(() => {
      resolve(undefined);
      list.dispose();
    });
  });
}

async function fill<T>(
  list: vscode.QuickPick<Item<T>>,
  choices: Promise<readonly Choice<T>[]>,
  options: PickOptions,
): Promise<void> {
  let items: Item<T>[] = [];
  const show = () => (list.items = offered(items, list.value, options.typed));
  list.onDidChangeValue(show);
  try {
    items = (await choices).map((choice) => ({ ...choice }));
  } catch {
    // Nothing to choose from; whoever asked for the choices tells why.
  }
  list.busy = false;
  const { active, text } = begun(items, list.value, options.before);
  // Not set to what it is: meanwhile the user may have typed more.
  if (text !== list.value) list.value = text;
  show();
  if (active) list.activeItems = [active];
}
