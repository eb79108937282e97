/** UTC times to the microsecond as texts of one format, whose text order is their time order. */

const MOMENT = /^((?!0000)\d{4}-\d{2}-\d{2})(?:T((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.(\d{1,6}))?Z)?$/;

/** Parses a UTC day, or a time ending in Z; undefined for other texts. Year 0 does not exist, in Postgres either. */
export function momentOf(text: string): string | undefined {
  const [, day, time = '00:00:00', fraction = ''] = MOMENT.exec(text) ?? [];
  if (day === undefined) return undefined;
  // Reject a day that its month lacks: Date would turn it into a day of the next month.
  const date = new Date(`${day}T00:00:00Z`);
  if (Number.isNaN(date.getTime()) || date.toISOString().slice(0, 10) !== day) return undefined;
  return `${day}T${time}.${fraction.padEnd(6, '0')}Z`;
}
