/** U+0000 in the target of a request: a character to a browser, and none to Postgres, so that nothing has such a name. */
import { ApiError, invalidField } from '../domain/errors.js';

/** Of the target as it was sent: throws 404 for a path that holds it, and 400 for a parameter. Bodies are judged by member. */
export function refuseNulInTarget(target: string): void {
  const [path = ''] = target.split('?', 1);
  if (path.includes('%00')) throw new ApiError('NOT_FOUND', 'There is nothing at this path.');
  for (const [name, value] of new URLSearchParams(target.slice(path.length + 1))) {
    if (value.includes('\0')) throw invalidField(name, 'must not hold the character U+0000');
  }
}
