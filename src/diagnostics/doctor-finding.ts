/** What one check of the doctor found, and what to do about it. */
export interface DoctorFinding {
  /** What was checked, in a few words: `database`, `node 1.2.3.4:8090`. */
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'fault';
  /** What is so; a full sentence. */
  readonly says: string;
  /** What to do; absent when all is well. */
  readonly todo?: string;
}

export function ok(check: string, says: string): DoctorFinding {
  return { check, state: 'ok', says };
}

/** It works, at a risk or not for long. */
export function warning(check: string, says: string, todo: string): DoctorFinding {
  return { check, state: 'warning', says, todo };
}

/** Something does not work until it is set right. */
export function fault(check: string, says: string, todo: string): DoctorFinding {
  return { check, state: 'fault', says, todo };
}
