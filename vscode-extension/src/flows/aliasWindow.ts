// A window on the alias: what it shows is of the node that the alias led to when the window was opened. After a move
// it is stale, and VS Code's `openFolder` would only bring it to the front.

import { plain } from '../format/words';
import type { Picture } from '../state/state';
import type { Context } from './context';
import { ofProfile } from './ofProfile';
import { hostOf } from './place';

const START = 'Start Working';
const RELOAD = 'Reload Window';

export class AliasWindow {
  /** The node of this window; null when the alias was parked, so that nothing of it can work. */
  private node: string | null | undefined;

  constructor(private readonly context: Context) {}

  /** To be called whenever the picture changed or time has passed. */
  async look({ status }: Picture): Promise<void> {
    const { cli, editor } = this.context;
    const host = hostOf(status);
    // A reload would end a command of this window, like the restore on the new node.
    if (cli.isBusy()) return;
    if (!status?.alias || host === undefined || !editor.isConnectedTo(host)) return;
    const before = this.node;
    const now = status.alias.target ?? null;
    if (now === before) return;
    this.node = now;
    if (now === null) await this.offerNode(host);
    else if (before !== undefined) await this.reload(now);
  }

  private async offerNode(host: string): Promise<void> {
    const { editor } = ofProfile(this.context);
    const message = `This window is on ${plain(host)}, which leads to no node now.`;
    if ((await editor.warn(message, START)) === START) await editor.execute('scratchflow.up');
  }

  /** At once, unless something is not saved: its text is kept over a reload, but people should know. */
  private async reload(node: string): Promise<void> {
    const { editor } = this.context;
    const message = `The workspace is on ${plain(node)} now. This window has to be reloaded; files that are not saved stay open.`;
    if (editor.unsaved().length > 0 && (await editor.warn(message, RELOAD)) !== RELOAD) return;
    await editor.execute('workbench.action.reloadWindow');
  }
}
