/**
 * Refuses U+0000 in the target of a request. Browsers can send it, but Postgres cannot store it, so no name contains
 * it.
 */
import { ApiError, invalidField } from '../../domain/errors.js';

/** Checks the raw target. Throws 404 for a path with U+0000, and 400 for a parameter. Bodies are checked by member. */
export function refuseNulInTarget(target: string): void {
  const [path = ''] = target.split('?', 1);
  if (path.includes('%00')) throw new ApiError('NOT_FOUND', 'There is nothing at this path.');
  for (const [name, value] of new URLSearchParams(target.slice(path.length + 1))) {
    if (value.includes('\0')) throw invalidField(name, 'must not contain the character U+0000');
  }
}
