/** Texts of the freeze of a project. */
export const FREEZE = {
  section: 'Freeze',
  note: 'A freeze refuses all requests of the project. Its orders are still delivered and reclaimed, and its deposits credited.',
  isFrozen: 'This project is frozen: all its requests are refused.',
  isActive: 'The project is not frozen.',
  by: (actor: string, reason: string) => `Frozen by ${actor}: ${reason}`,
  toSettings: 'To its settings',
  reads: 'Only an admin can freeze or unfreeze a project.',
  acts: 'Actions on this project',
  reason: 'Reason',
  reasonHelp: 'Recorded with your name in the audit log, and visible to the owners of the project.',
  freeze: 'Freeze project',
  unfreeze: 'Unfreeze project',
  lead: {
    freeze: 'All requests of this project will be refused immediately, with each of its keys.',
    unfreeze: 'The requests of this project will be accepted again.',
  },
} as const;
