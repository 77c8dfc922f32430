// A row of a side bar view, as data: src/vscode/tree.ts draws it.

export interface Row {
  /** What it stays known by when the view is drawn anew: opened rows stay open. */
  readonly id?: string;
  readonly label: string;
  readonly description?: string;
  readonly tooltip?: string;
  /** What a screen reader says instead of what is written: for those with a bar. */
  readonly spoken?: string;
  readonly icon?: string;
  /** The name of a file: it gets the icon that the user's theme has for such files. */
  readonly file?: string;
  readonly tint?: 'good' | 'warning' | 'bad';
  /** Which menu it gets. */
  readonly kind?: string;
  /** What its menu's commands are given. */
  readonly ref?: unknown;
  /** The command that a click runs. */
  readonly command?: string;
  /** Whether what is beneath is seen at first. */
  readonly isOpen?: boolean;
  readonly children?: () => Promise<readonly Row[]>;
}

/** What a screen reader says. Without it, an editor reads the tooltip alone. */
export function spokenText({ label, description, tooltip, spoken }: Row): string {
  const lines = (tooltip ?? '').split('\n');
  return spoken ?? [label, description, ...lines].filter(Boolean).join(', ');
}
