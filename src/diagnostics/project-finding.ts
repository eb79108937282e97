/** What one line of a project's check says, and the command that mends it. */
export interface ProjectFinding {
  /** What was checked, in a few words: `balance`, `key shop`. */
  readonly check: string;
  /** look: it works, and the operator should see that it is meant so. missing: to be mended before going live. */
  readonly state: 'ok' | 'look' | 'missing';
  /** What is so; a full sentence. */
  readonly says: string;
  /** What to do; absent when all is well. */
  readonly todo?: string;
}

export const fine = (check: string, says: string): ProjectFinding => ({ check, state: 'ok', says });
export const look = (check: string, says: string, todo: string): ProjectFinding => ({
  check,
  state: 'look',
  says,
  todo,
});
export const missing = (check: string, says: string, todo: string): ProjectFinding => ({
  check,
  state: 'missing',
  says,
  todo,
});
