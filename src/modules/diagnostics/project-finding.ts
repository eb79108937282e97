/** One line of a project's check, with the command that corrects it. */
export interface ProjectFinding {
  /** The subject of the check in a few words: `balance`, `key shop`. */
  readonly check: string;
  /**
   * look: it works, but the operator should confirm that it is intended. missing: to be corrected before going live.
   */
  readonly state: 'ok' | 'look' | 'missing';
  /** The result as a full sentence. */
  readonly says: string;
  /** The remedy; absent if nothing is wrong. */
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
