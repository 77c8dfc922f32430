import { expect, test } from 'vitest';
import { reloadAll, type Desk } from '../../src/vscode/reload';

class File {
  isDirty = true;

  constructor(
    readonly name: string,
    readonly isOnDisk = true,
  ) {}
}

/** A window with these editors; the user may go to another one as soon as something is shown. */
class Window implements Desk<File> {
  readonly closed: string[] = [];
  private front: File | undefined;

  constructor(private readonly goesTo?: File) {}

  show(file: File): Promise<boolean> {
    this.front = this.goesTo ?? file;
    return Promise.resolve(this.front === file);
  }

  revert(): Promise<void> {
    if (this.front) this.front.isDirty = false;
    return Promise.resolve();
  }

  isOnDisk = (file: File) => Promise.resolve(file.isOnDisk);

  close(file: File): Promise<void> {
    if (file.isDirty) throw new Error('it would ask');
    this.closed.push(file.name);
    return Promise.resolve();
  }
}

test('each is loaded anew, and an editor of a file that was removed is closed', async () => {
  const [kept, removed] = [new File('kept'), new File('removed', false)];
  const window = new Window();
  expect(await reloadAll([kept, removed], window)).toEqual([]);
  expect([kept.isDirty, removed.isDirty]).toEqual([false, false]);
  expect(window.closed).toEqual(['removed']);
});

test('another editor that comes to the front keeps what is not saved in it', async () => {
  const [wanted, other] = [new File('wanted', false), new File('other')];
  const window = new Window(other);
  expect(await reloadAll([wanted], window)).toEqual([wanted]);
  expect(other.isDirty).toBe(true);
  expect(window.closed).toEqual([]);
});
