import { expect, test } from 'vitest';
import { problemText } from '../../src/format/problemText';

test('foreign words cannot become links in a message', () => {
  const problem = { code: 'x', message: 'no node [gpu](command:evil)', hint: '', retryable: false };
  expect(problemText(problem)).not.toContain('](');
});
