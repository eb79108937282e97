/** Texts that people and programs give things as names, and how untrusted text is shown on a terminal. */

/** Control characters, ends of lines, and marks that turn the direction of the text around them. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/u;
const UNPRINTABLE_BUT_BREAKS = new RegExp(`(?!\\n)${UNPRINTABLE.source}`, 'gu');

/** Says why a text is no name, or nothing. */
export const nameFault = (text: string): string | undefined =>
  UNPRINTABLE.test(text) ? 'must hold no control characters and no marks that turn the direction of text' : undefined;

/** Returns the text as a terminal may show it: what could move its cursor or turn the text around becomes U+FFFD. */
export const forTerminal = (text: string): string => text.replaceAll(UNPRINTABLE_BUT_BREAKS, '\ufffd');

/** Returns the JSON document with such characters escaped: the same document for a reader. */
export const jsonForTerminal = (json: string): string =>
  json.replaceAll(UNPRINTABLE_BUT_BREAKS, (each) => `\\u${(each.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`);
