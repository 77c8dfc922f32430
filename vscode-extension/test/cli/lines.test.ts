import { expect, test } from 'vitest';
import { LineReader } from '../../src/cli/lines';

const line = '{"v":1,"seq":0,"ts":"","op":"x","type":"log","level":"info","message":"é"}\n';

test('lines may come in any pieces, also in the middle of a letter', () => {
  const bytes = Buffer.from(line + line);
  for (let cut = 1; cut < bytes.length; cut += 1) {
    const reader = new LineReader();
    const read = [...reader.take(bytes.subarray(0, cut)), ...reader.take(bytes.subarray(cut))];
    expect(read).toHaveLength(2);
    expect(read[1]).toMatchObject({ event: { message: 'é' } });
  }
});

test('a last line without an end is read at the end', () => {
  const reader = new LineReader();
  expect(reader.take(Buffer.from(line.trim()))).toEqual([]);
  expect(reader.end()).toHaveLength(1);
});

test.each(['hello', '[1]', '{"type":1}', '{"type":"log"}', 'null', '"x"'])(
  '%s is no event',
  (text) => {
    expect(new LineReader().take(Buffer.from(`${text}\n`))).toEqual([{ garbage: text }]);
  },
);
