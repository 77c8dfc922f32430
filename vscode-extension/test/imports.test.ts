// Which folder of src/ may import which: the lint rule for it, tried with imports that it must refuse.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ESLint, Linter } from 'eslint';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const eslint = new ESLint({ cwd: root });

/** How many complaints the rule has about an import of `what` in that file of src/. */
async function complaints(file: string, what: string): Promise<number> {
  const config = (await eslint.calculateConfigForFile(join(root, 'src', file))) as Linter.Config;
  const name = 'no-restricted-imports';
  const rules = { [name]: config.rules?.[name] ?? 'off' };
  return new Linter().verify(`import '${what}';`, { rules }).length;
}

test.each([
  ['views/nodes.ts', '../flows/allocate'],
  ['views/nodes.ts', './../flows/allocate'],
  ['views/nodes.ts', '../dashboard/model'],
  ['dashboard/model.ts', '../flows/context'],
  ['cli/cli.ts', '../flows/context'],
  ['cli/cli.ts', '../views/row'],
  ['cli/cli.ts', '../state/state'],
  ['state/state.ts', '../format/words'],
  ['format/words.ts', '../state/state'],
  ['flows/up.ts', '../views/row'],
  ['flows/up.ts', '../commands'],
  ['flows/up.ts', 'vscode'],
  ['vscode/tree.ts', '../flows/up'],
  ['hint.ts', './flows/up'],
  ['hint.ts', 'vscode'],
  ['commands.ts', 'vscode'],
])('%s must not import %s', async (file, what) => {
  expect(await complaints(file, what)).toBe(1);
});

test.each([
  ['views/nodes.ts', '../format/nodeText'],
  ['views/nodes.ts', './row'],
  ['views/nodes.ts', 'node:path'],
  ['state/watch.ts', '../cli/cli'],
  ['flows/up.ts', '../editor'],
  ['vscode/tree.ts', 'vscode'],
  ['hint.ts', './verbs'],
  ['extension.ts', './flows/context'],
])('%s may import %s', async (file, what) => {
  expect(await complaints(file, what)).toBe(0);
});

test('every folder has its list', async () => {
  const entries = readdirSync(join(root, 'src'), { withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  expect(folders).toContain('views');
  for (const folder of folders) {
    expect(await complaints(`${folder}/new.ts`, '../extension'), folder).toBe(1);
    expect(await complaints(`${folder}/new.ts`, './new'), folder).toBe(0);
  }
});
