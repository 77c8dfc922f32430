// The output of the CLI in a terminal that stays when it has ended, so that it can be read.

import * as vscode from 'vscode';
import { Output } from '../cli/output';

const CTRL_C = '\x03';

/** Ends when the program has; closing the terminal ends the program. */
export async function showOutput(
  name: string,
  file: string,
  args: readonly string[],
  running: Set<Output>,
): Promise<void> {
  const written = new vscode.EventEmitter<string>();
  let output: Output | undefined;
  const opened = new Promise<void>((resolve) => {
    const pty: vscode.Pseudoterminal = {
      onDidWrite: written.event,
      open: () => {
        output = new Output(file, args, (text) => written.fire(withReturns(text)));
        running.add(output);
        resolve();
      },
      close: () => output?.stop(),
      handleInput: (typed) => {
        if (typed === CTRL_C) output?.stop();
      },
    };
    vscode.window.createTerminal({ name, pty }).show();
  });
  await opened;
  if (!output) return;
  written.fire(`\r\n[ended: ${withReturns(await output.ended)}]\r\n`);
  running.delete(output);
}

/** A terminal wants to be told to go back to the start of the line. */
function withReturns(text: string): string {
  return text.replace(/\r?\n/g, '\r\n');
}
