// Numbers, times and foreign text as people read them. Takes values, returns text.

const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;
const DAY_S = 24 * HOUR_S;

/** A length of time in at most two units: `3 h 12 min`. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < MINUTE_S) return `${whole} s`;
  if (whole < HOUR_S) return `${Math.floor(whole / MINUTE_S)} min`;
  if (whole < DAY_S) return two(whole, HOUR_S, 'h', MINUTE_S, 'min');
  return two(whole, DAY_S, 'd', HOUR_S, 'h');
}

function two(
  whole: number,
  big: number,
  bigName: string,
  small: number,
  smallName: string,
): string {
  const rest = Math.floor((whole % big) / small);
  return `${Math.floor(whole / big)} ${bigName}` + (rest > 0 ? ` ${rest} ${smallName}` : '');
}

/** How long ago: `12 min ago`, or `just now`. */
export function ago(seconds: number): string {
  return seconds < MINUTE_S ? 'just now' : `${duration(seconds)} ago`;
}

const SIZES = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** A number of bytes as the CLI says it: `1.5 GiB`. */
export function size(bytes: number): string {
  const step = stepOf(bytes);
  return `${step === 0 ? bytes : (bytes / 1024 ** step).toFixed(1)} ${SIZES[step]}`;
}

/** A part of a whole in the unit of the whole: `1.5/64 GiB`, short for a narrow side bar. */
export function ofSize(bytes: number, whole: number): string {
  const step = stepOf(whole);
  const short = (amount: number) => String(Number((amount / 1024 ** step).toFixed(1)));
  return `${short(bytes)}/${short(whole)} ${SIZES[step]}`;
}

function stepOf(bytes: number): number {
  let step = 0;
  while (bytes >= 1024 ** (step + 1) && step < SIZES.length - 1) step += 1;
  return step;
}

/** `1 file`, `2 files`. */
export function counted(count: number, what: string): string {
  return `${count.toLocaleString('en')} ${what}${count === 1 ? '' : 's'}`;
}

/** A moment as the user's own clock shows it: `today, 14:05`, or `Sat 14 Nov, 14:05`. */
export function moment(time: string, nowMs: number, seconds: Seconds = {}): string {
  const when = new Date(time);
  if (Number.isNaN(when.getTime())) return plain(time);
  const minutes = { hour: '2-digit', minute: '2-digit' } as const;
  const clock = when.toLocaleTimeString('en-GB', { ...minutes, ...seconds });
  if (when.toDateString() === new Date(nowMs).toDateString()) return `today, ${clock}`;
  const day = when.toLocaleDateString('en-GB', {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
  });
  return `${day.replace(',', '')}, ${clock}`;
}

/** The same where today goes without saying: `14:05`. */
export function clock(time: string, nowMs: number): string {
  return moment(time, nowMs).replace(/^today, /, '');
}

interface Seconds {
  readonly second?: '2-digit';
}

const TO_THE_SECOND: Seconds = { second: '2-digit' };

/** The same for a list: those of the same minute are told apart by their seconds. */
export function moments(times: readonly string[], nowMs: number): string[] {
  const labels = times.map((time) => moment(time, nowMs));
  const counts = new Map<string, number>();
  for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  return labels.map((label, index) =>
    counts.get(label) === 1 ? label : moment(times[index] ?? '', nowMs, TO_THE_SECOND),
  );
}

const STAMP = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-/;

/** A snapshot as people know it, by its time: `today, 14:05:31`. Its id begins with that. */
export function snapshotName(id: string, nowMs: number): string {
  return STAMP.test(id)
    ? moment(id.replace(STAMP, '$1-$2-$3T$4:$5:$6Z ').slice(0, 20), nowMs, TO_THE_SECOND)
    : plain(id);
}

/** While a profile has not answered yet. */
export function askingText(profile: string): string {
  return `asking ${plain(profile) || 'the cluster'}…`;
}

/** The beginning of a sentence. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

// Editors draw `[label](command:…)` as a link and `$(name)` as an icon. A zero-width space breaks both.
const BREAK = '\u200b';

/** Foreign text (file names, Slurm's words) so that the editor shows it and does nothing else with it. */
export function plain(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Bidi_Control}]+/gu, ' ')
    .replaceAll('](', `]${BREAK}(`)
    .replaceAll('$(', `$${BREAK}(`)
    .trim();
}
