/** The result of one doctor check, with its remedy. */
export interface DoctorFinding {
  /** The subject of the check in a few words: `database`, `node 1.2.3.4:8090`. */
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'fault';
  /** The result as a full sentence. */
  readonly says: string;
  /** The remedy; absent if nothing is wrong. */
  readonly todo?: string;
}

export function ok(check: string, says: string): DoctorFinding {
  return { check, state: 'ok', says };
}

/** It works, but at a risk or not for long. */
export function warning(check: string, says: string, todo: string): DoctorFinding {
  return { check, state: 'warning', says, todo };
}

/** It does not work until it is corrected. */
export function fault(check: string, says: string, todo: string): DoctorFinding {
  return { check, state: 'fault', says, todo };
}
