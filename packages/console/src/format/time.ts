/** Times in the user's zone and in UTC, and durations in words. */
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });
const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });

/** Upper bound of days on a chart: a year and a day. */
const DAYS_DRAWN_MAX = 367;
const DAY_MS = 86_400_000;

const ZONED = new Intl.DateTimeFormat('en-US', { timeZoneName: 'short' });

/** Returns the short name of the user's time zone at that time: `EST`, `GMT+1`, `UTC`. */
export function zoneAt(at: Date): string {
  return ZONED.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? '';
}

export function localClock(at: Date): string {
  return CLOCK.format(at);
}

export function localDay(at: Date): string {
  return DAY.format(at);
}

/** Formats as `2026-11-24`. */
export function utcDay(at: Date): string {
  return at.toISOString().slice(0, 10);
}

/** Formats as `13:02:10 UTC`. */
export function utcClock(at: Date): string {
  return `${at.toISOString().slice(11, 19)} UTC`;
}

/** Formats as `2026-11-24 13:02:10 UTC`. */
export function utcMoment(at: Date): string {
  return `${utcDay(at)} ${utcClock(at)}`;
}

/** Returns true if the local date equals the UTC date at that time. */
export function isDayOfUtc(at: Date): boolean {
  return at.getDate() === at.getUTCDate() && at.getMonth() === at.getUTCMonth();
}

/** Returns true if the user's zone equals UTC, so that a second time would be redundant. */
export function isInUtc(at: Date): boolean {
  return at.getTimezoneOffset() === 0;
}

/** Returns every day from the first to the last with its item, if it has one. */
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

/** Returns the UTC day that is `days` before a time. */
export function dayBefore(at: string, days: number): string {
  return new Date(Date.parse(at) - days * DAY_MS).toISOString().slice(0, 10);
}

/** Returns the UTC day after `day` as `2026-11-24`. Returns invalid input unchanged. */
export function dayAfter(day: string): string {
  const at = new Date(`${day}T00:00:00Z`);
  if (Number.isNaN(at.getTime())) return day;
  at.setUTCDate(at.getUTCDate() + 1);
  return at.toISOString().slice(0, 10);
}

export function isSameDay(one: Date, other: Date): boolean {
  return localDay(one) === localDay(other);
}

/** Formats a number of days: as given below ten, whole days from ten on, rounded down. */
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

/** Formats a duration in seconds by its two largest units: `2 h 5 min`, `41 s`. */
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

/** Formats milliseconds as seconds with one decimal. For differences between two times of one clock. */
export function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}

const UNIT_SEC: Readonly<Record<string, bigint>> = { d: 86_400n, h: 3600n, min: 60n, s: 1n };

/**
 * Parses a duration in the format of `span` and returns seconds. A number without a unit is hours. Returns undefined
 * for invalid text.
 */
export function spanTyped(text: string): bigint | undefined {
  const typed = text.trim();
  if (/^\d{1,6}$/.test(typed)) return BigInt(typed) * 3600n;
  if (!/^\d{1,9} ?(?:d|h|min|s)(?: \d{1,9} ?(?:h|min|s))?$/.test(typed)) return undefined;
  return [...typed.matchAll(/(\d+) ?(d|h|min|s)/g)].reduce(
    (sum, [, count = '0', unit = 's']) => sum + BigInt(count) * (UNIT_SEC[unit] ?? 0n),
    0n,
  );
}
