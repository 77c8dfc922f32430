// What a message says is of one profile, and so is what its buttons do: also when the window has another one by then.

import type { Editor, Say } from '../editor';
import { plain } from '../format/words';
import { text } from '../settings';
import type { Context } from './context';
import { OF_WINDOW, useHere } from './profile';

export const LOG = 'Show Log';
export const INSTALL = 'Install scratchflow';
export const OPEN_SETTING = 'Open Setting';
/** These do the same in every profile. */
export const IN_ANY_PROFILE = new Set([LOG, INSTALL, OPEN_SETTING]);

interface Profile {
  /** What this window has of its own; empty when it has what all windows have. */
  readonly own: string;
  /** What commands of this window get as `--profile`. */
  readonly given: string;
  /** Empty while it is not known. */
  readonly name: string;
}

/** The same context for one flow: a button pressed after a switch asks, and goes back to the profile of the flow first. */
export function ofProfile<C extends Context>(context: C): C {
  const { editor } = context;
  let meant = profileNow(context);
  const asking =
    (say: Say): Say =>
    async (message, ...buttons) => {
      const pressed = await say(message, ...buttons);
      if (pressed === undefined || IN_ANY_PROFILE.has(pressed)) return pressed;
      return (await isBackIn(context, meant, pressed)) ? pressed : undefined;
    };
  const own: Pick<Editor, 'inform' | 'warn' | 'fail' | 'rememberHere'> = {
    inform: asking((...said) => editor.inform(...said)),
    warn: asking((...said) => editor.warn(...said)),
    fail: asking((...said) => editor.fail(...said)),
    // A flow that asks for the profile goes on with the answer.
    async rememberHere(key, value) {
      await editor.rememberHere(key, value);
      if (key === OF_WINDOW) meant = profileNow(context);
    },
  };
  return { ...context, editor: withOwn(editor, own) };
}

function withOwn(editor: Editor, own: Partial<Editor>): Editor {
  return new Proxy(editor, {
    get(target, key) {
      if (key in own) return Reflect.get(own, key) as unknown;
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

function profileNow({ editor, store }: Context): Profile {
  const own = text(editor.recallHere(OF_WINDOW));
  const given = own || text(editor.setting('profile'));
  return { own, given, name: given || (store.picture.status?.profile ?? '') };
}

/** Whether the window has the profile that was spoken of, after a question if it had another one. */
async function isBackIn(context: Context, meant: Profile, button: string): Promise<boolean> {
  const now = profileNow(context);
  if (now.given === meant.given || now.name === meant.name) return true;
  const called = (name: string) => (name === '' ? 'another profile' : `the profile ${plain(name)}`);
  const isWanted = await context.editor.confirm(
    `${button} in ${called(meant.name)}?`,
    `The message is about ${called(meant.name)}, and this window has ${called(now.name)} now. It is switched back first.`,
    `Switch Back and ${button}`,
  );
  if (isWanted) await useHere(context, meant.own || undefined);
  return isWanted;
}
