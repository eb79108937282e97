/** Rules for project names: one line, as lists, mails and audit entries show it. */

import { nameFault } from '../../domain/printable.js';

export const PROJECT_NAME_MAX = 200;
export const PROJECT_NAME_RULE = `must have 1 to ${PROJECT_NAME_MAX.toString()} characters on one line, without control characters or characters that change the direction of text`;

/** Returns the trimmed name; undefined if it is invalid. */
export function projectNameOf(text: string): string | undefined {
  const name = text.trim();
  return name === '' || name.length > PROJECT_NAME_MAX || nameFault(name) !== undefined ? undefined : name;
}
