// A list to choose from that is there at once, fills when the answer comes, and may take typed text.

import * as vscode from 'vscode';
import type { Choice, PickOptions } from '../editor';

interface Item<T> extends vscode.QuickPickItem {
  readonly value: T | string;
}

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
      const [chosen] = list.selectedItems;
      if (chosen) resolve(chosen.value);
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
  const show = () => {
    // Enter takes the first: what was typed in full goes before what only begins with it.
    const isTyped = ({ label }: Item<T>) => label === list.value.trim();
    const sorted = [...items.filter(isTyped), ...items.filter((item) => !isTyped(item))];
    list.items = [...sorted, ...typedItem(list.value, items, options)];
  };
  list.onDidChangeValue(show);
  try {
    items = (await choices).map((choice) => ({ ...choice }));
  } catch {
    // Nothing to choose from; whoever asked for the choices tells why.
  }
  list.busy = false;
  show();
}

/** What the user typed, as a choice of its own, unless it is the name of one that is there. */
function typedItem<T>(text: string, items: readonly Item<T>[], { typed }: PickOptions): Item<T>[] {
  const value = text.trim();
  if (!typed || value === '' || items.some(({ label }) => label === value)) return [];
  const choice = typed(value);
  return choice ? [{ ...choice, alwaysShow: true }] : [];
}
