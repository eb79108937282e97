/** Reads `Prefer: wait=N` (RFC 7240): how long a caller wants an answer held. */
import type { Caller } from './request-context.js';
import { headerValues } from './headers.js';

const WAIT_SEC_MAX = 30;
const WAIT = /^wait\s*=\s*(?:"([0-9]{1,9})"|([0-9]{1,9}))\s*(?:;|$)/i;

/**
 * Returns the seconds to hold the answer, 1–30; 0 if not requested. RFC 7240: a preference that is not understood is
 * ignored, and the first of several `wait` applies. Our choice: more than 30 counts as 30, since a wait is only an
 * upper bound.
 */
export function readWait(caller: Pick<Caller, 'rawHeaders'>): number {
  for (const value of headerValues(caller.rawHeaders, 'prefer')) {
    for (const preference of value.split(',')) {
      const trimmed = preference.trim();
      if (!/^wait\b/i.test(trimmed)) continue;
      const match = WAIT.exec(trimmed);
      return match === null ? 0 : Math.min(Number(match[1] ?? match[2]), WAIT_SEC_MAX);
    }
  }
  return 0;
}
