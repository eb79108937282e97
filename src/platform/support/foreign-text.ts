/** Truncates untrusted text. */

/** Cuts to `max` UTF-16 units without splitting a surrogate pair, since strict JSON parsers reject half of one. */
export const cutText = (text: string, max: number): string => text.slice(0, max).replace(/[\ud800-\udbff]$/, '');

/** Does the same in one line, without control characters, which Postgres may reject and terminals obey. */
export const lineOf = (text: string, max: number): string =>
  cutText(text, max)
    .replace(/\p{Cc}+/gu, ' ')
    .trim();
