// What a list to choose from offers while text is typed, and what Enter takes. Pure.

import type { Choice, PickOptions } from '../editor';

export interface Item<T> extends Omit<Choice<T>, 'value'> {
  readonly value: T | string;
  /** Also where it does not match what was typed. */
  readonly alwaysShow?: boolean;
}

type Typed = PickOptions['typed'];

/** Enter takes the first: what was typed in full goes before what only begins with it. */
export function offered<T>(items: readonly Item<T>[], text: string, typed: Typed): Item<T>[] {
  const isTyped = ({ label }: Item<T>) => label === text.trim();
  const sorted = [...items.filter(isTyped), ...items.filter((item) => !isTyped(item))];
  return items.some(isTyped) ? sorted : [...sorted, ...typedItem<T>(text, typed)];
}

/**
 * Where a list begins: at what was chosen before, or with that as text where it was typed and is no item.
 * Whoever types already goes on with that.
 */
export function begun<T>(
  items: readonly Item<T>[],
  text: string,
  before = '',
): { readonly active?: Item<T>; readonly text: string } {
  if (text !== '') return { text };
  const active = items.find(({ value }) => value === before);
  return active ? { active, text } : { text: before };
}

/** Just when the answer comes, nothing is selected: then what was typed counts. Nothing: the list stays. */
export function accepted<T>(
  selected: readonly Item<T>[],
  text: string,
  typed: Typed,
): Item<T> | undefined {
  return selected[0] ?? typedItem<T>(text, typed)[0];
}

/** What the user typed, as a choice of its own. */
function typedItem<T>(text: string, typed: Typed): Item<T>[] {
  const value = text.trim();
  const choice = value === '' ? undefined : typed?.(value);
  return choice ? [{ ...choice, alwaysShow: true }] : [];
}
