/** What others say, cut to a length, so that it can be kept, answered and shown. */

/** Up to `max` units of UTF-16, and no half of a character: half of one is refused by whoever reads JSON strictly. */
export const cutText = (text: string, max: number): string => text.slice(0, max).replace(/[\ud800-\udbff]$/, '');

/** The same in one line, without what Postgres refuses and terminals obey. */
export const lineOf = (text: string, max: number): string =>
  cutText(text, max)
    .replace(/\p{Cc}+/gu, ' ')
    .trim();
