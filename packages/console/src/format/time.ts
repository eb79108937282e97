/** Times: in the viewer's zone, with UTC beside it; spans in words. */
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });
const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });

/** The most that are drawn: a year, and a day. */
const DAYS_DRAWN_MAX = 367;
const DAY_MS = 86_400_000;

const ZONED = new Intl.DateTimeFormat('en-US', { timeZoneName: 'short' });

/** The viewer's zone at that time, by its short name: `EST`, `GMT+1`, `UTC`. */
export function zoneAt(at: Date): string {
  return ZONED.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? '';
}

export function localClock(at: Date): string {
  return CLOCK.format(at);
}

export function localDay(at: Date): string {
  return DAY.format(at);
}

/** `13:02:10 UTC`. */
export function utcClock(at: Date): string {
  return `${at.toISOString().slice(11, 19)} UTC`;
}

/** `2026-11-24 13:02:10 UTC`. */
export function utcMoment(at: Date): string {
  return `${at.toISOString().slice(0, 10)} ${utcClock(at)}`;
}

/** Whether the viewer has the same date then as UTC. */
export function isDayOfUtc(at: Date): boolean {
  return at.getDate() === at.getUTCDate() && at.getMonth() === at.getUTCMonth();
}

/** UTC itself, so that it need not be said twice. */
export function isInUtc(at: Date): boolean {
  return at.getTimezoneOffset() === 0;
}

/** Each day from the first to the last, with what is of it. */
export function everyDay<T extends { readonly day: string }>(
  items: readonly T[],
  first: string,
  last: string,
): { readonly day: string; readonly of: T | undefined }[] {
  const of = new Map(items.map((item) => [item.day, item]));
  const days: { readonly day: string; readonly of: T | undefined }[] = [];
  for (let day = first; day <= last && days.length < DAYS_DRAWN_MAX; day = dayAfter(day)) {
    days.push({ day, of: of.get(day) });
  }
  return days;
}

/** `days` earlier than a time, as a UTC day. */
export function dayBefore(at: string, days: number): string {
  return new Date(Date.parse(at) - days * DAY_MS).toISOString().slice(0, 10);
}

/** `2026-11-24` of the day after `day`, in UTC; of what is no day, that itself. */
export function dayAfter(day: string): string {
  const at = new Date(`${day}T00:00:00Z`);
  if (Number.isNaN(at.getTime())) return day;
  at.setUTCDate(at.getUTCDate() + 1);
  return at.toISOString().slice(0, 10);
}

export function isSameDay(one: Date, other: Date): boolean {
  return localDay(one) === localDay(other);
}

/** How long something lasts at a steady pace: days and tenths below ten, from there on whole days, rounded down. */
export function daysText(days: number): string {
  const shown = days < 10 ? days : Math.floor(days);
  return shown === 1 ? '1 day' : `${shown.toString()} days`;
}

const UNITS = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
] as const;

/** The two largest units of a span in seconds: `2 h 5 min`, `41 s`. */
export function span(seconds: number): string {
  let rest = Math.max(0, Math.round(seconds));
  const parts: string[] = [];
  for (const [size, name] of UNITS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count.toString()} ${name}`);
    if (parts.length === 2) break;
  }
  return parts.length === 0 ? '0 s' : parts.join(' ');
}

/** Milliseconds as seconds with one digit: what passed between two times of one clock. */
export function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}

const UNIT_SEC: Readonly<Record<string, bigint>> = { d: 86_400n, h: 3600n, min: 60n, s: 1n };

/** A span as `span` writes it, in seconds; hours where no unit is named. Undefined when it is none. */
export function spanTyped(text: string): bigint | undefined {
  const typed = text.trim();
  if (/^\d{1,6}$/.test(typed)) return BigInt(typed) * 3600n;
  if (!/^\d{1,9} ?(?:d|h|min|s)(?: \d{1,9} ?(?:h|min|s))?$/.test(typed)) return undefined;
  return [...typed.matchAll(/(\d+) ?(d|h|min|s)/g)].reduce(
    (sum, [, count = '0', unit = 's']) => sum + BigInt(count) * (UNIT_SEC[unit] ?? 0n),
    0n,
  );
}
