/** Validates names, and makes untrusted text safe for a terminal. */

/** Control characters, line ends, and marks that change the direction of surrounding text. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/u;
const UNPRINTABLE_BUT_BREAKS = new RegExp(`(?!\\n)${UNPRINTABLE.source}`, 'gu');

/** Returns the reason that a text is not a valid name, or undefined. */
export const nameFault = (text: string): string | undefined =>
  UNPRINTABLE.test(text)
    ? 'must not contain control characters or characters that change the direction of text'
    : undefined;

/**
 * Returns the text for a terminal: characters that could move its cursor or change the text direction become U+FFFD.
 */
export const forTerminal = (text: string): string => text.replaceAll(UNPRINTABLE_BUT_BREAKS, '\ufffd');

/** Returns the JSON document with such characters escaped. A parser reads the same document. */
export const jsonForTerminal = (json: string): string =>
  json.replaceAll(UNPRINTABLE_BUT_BREAKS, (each) => `\\u${(each.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`);
