/** Texts for allowed IP addresses. */
export const SOURCES = {
  lead: 'From which internet addresses your keys may be used. A stolen key is of no use from anywhere else.',
  lists: 'Lists',
  listsNote: 'A request must be allowed by the project’s list and by its key’s. An empty list allows any address.',
  listsCaption: 'Allowed addresses of the project and of each key',
  columns: { of: 'Of', allowed: 'Allowed addresses', act: 'Change' },
  project: 'The whole project',
  any: 'any address',
  change: 'Change',
  callers: 'Seen lately',
  callersNote: 'From where requests were taken, up to a minute ago: at most twenty addresses of each key.',
  callersCaption: 'Addresses that requests were taken from',
  callerColumns: { address: 'Address', key: 'Key', at: 'Last', now: 'Now' },
  callersNone: 'No request was taken yet. Addresses show here a minute after the first.',
  allowed: 'Allowed',
  refused: 'Refused',
  readOnly: 'You read these lists; an owner of the project changes them.',
  ofOwners: 'Lists are changed by the project’s owners, in their own console.',
  edit: {
    projectTitle: 'Allowed addresses of the project',
    keyTitle: (name: string) => `Allowed addresses of “${name}”`,
    label: 'Allowed addresses and ranges',
    help: 'One a line, such as 203.0.113.7 or 203.0.113.0/24. Empty: any address.',
    check: 'See whom it locks out',
  },
  confirm: {
    title: 'Before it is saved',
    anyone: 'The list is empty: any address is allowed.',
    none: 'Nobody who was seen lately is locked out.',
    noneSeen: 'No request was seen lately, so nobody knows whom it locks out. Try it with one key first.',
    locked: (count: number) =>
      count === 1
        ? 'This locks out 1 address that was used lately'
        : `This locks out ${count.toString()} addresses that were used lately`,
    lockedNote: 'Requests from there are refused at once, with SOURCE_NOT_ALLOWED.',
    caption: 'Addresses that would be locked out',
    sure: 'Lock them out all the same',
    submit: 'Save the list',
    done: 'The list is saved. It holds at once.',
  },
} as const;
