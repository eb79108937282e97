/**
 * Reads headers as they were sent. Node joins or drops repeated ones in `headers`, so counting them needs the raw list.
 */

/** Returns every value of `name` (given in lower case), in order; empty if it was not sent. */
export function headerValues(rawHeaders: readonly string[], name: string): string[] {
  const values: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const header = rawHeaders[index] ?? '';
    if (header.length === name.length && header.toLowerCase() === name) values.push(rawHeaders[index + 1] ?? '');
  }
  return values;
}
