import { expect, test } from 'vitest';
import { accepted, begun, offered } from '../../src/vscode/choices';

const HOSTS = ['login2', 'login'].map((value) => ({ label: value, value }));
const typed = (text: string) => ({ label: `Use ${text}`, value: text });
const labels = (text: string) => offered(HOSTS, text, typed).map(({ label }) => label);

test('what is typed in full comes first, and anything else is a choice of its own, the last', () => {
  expect(labels('login')).toEqual(['login', 'login2']);
  expect(labels(' lab ')).toEqual(['login2', 'login', 'Use lab']);
  expect(labels('')).toEqual(['login2', 'login']);
  expect(offered(HOSTS, 'lab', undefined)).toEqual(HOSTS);
});

test('Enter takes what is selected, else what was typed, and nothing where there is nothing', () => {
  expect(accepted(HOSTS, 'login', typed)?.value).toBe('login2');
  expect(accepted([], 'login', typed)?.value).toBe('login');
  expect(accepted([], ' ', typed)).toBeUndefined();
  expect(accepted([], 'login', undefined)).toBeUndefined();
});

test('a list begins at what was chosen before, or with its text where it was typed', () => {
  expect(begun(HOSTS, '', 'login')).toEqual({ active: HOSTS[1], text: '' });
  expect(begun(HOSTS, '', 'me@lab')).toEqual({ text: 'me@lab' });
  expect(begun(HOSTS, '')).toEqual({ text: '' });
  expect(begun(HOSTS, 'log', 'login')).toEqual({ text: 'log' });
});
