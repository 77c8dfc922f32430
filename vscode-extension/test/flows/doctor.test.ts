import { expect, test } from 'vitest';
import { doctor } from '../../src/flows/doctor';
import { answering } from '../fakeCli';
import { lab } from './lab';

test('Run Doctor puts what is wrong first; picking it says what mends it, with a button', async () => {
  const checks = [
    { name: 'ssh', ok: true, detail: 'fine', fix: '' },
    { name: 'node', ok: false, detail: 'there is none', fix: '`scratchflow allocate` takes one' },
  ];
  const answers = { '1 of 2': '$(error) node', 'Node: there': 'Allocate Compute Node' };
  const { context, editor } = lab({ doctor: answering({ checks }) }, answers);
  await doctor(context);
  expect(editor.picked.map(({ label }) => label)).toEqual(['$(error) node', '$(pass) ssh']);
  expect(editor.seen.at(-2)).toBe(
    'error: Node: there is none. Allocate Compute Node takes one. | Allocate Compute Node | Show Log',
  );
  expect(editor.seen.at(-1)).toBe('command: scratchflow.allocate');
});

test('Run Doctor mends the check that was picked, also when another has its name', async () => {
  const checks = [
    { name: 'store', ok: true, detail: 'fine', fix: '' },
    { name: 'store', ok: false, detail: 'not seen from the node', fix: 'ask who runs the cluster' },
  ];
  const { context, editor } = lab(
    { doctor: answering({ checks }) },
    { '1 of 2': '$(error) store' },
  );
  await doctor(context);
  expect(editor.seen.at(-1)).toContain('error: Store: not seen from the node.');
});
