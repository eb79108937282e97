/** Texts for allowed IP addresses. */
export const SOURCES = {
  lead: 'Restrict your keys to IP addresses. A stolen key does not work from anywhere else.',
  lists: 'Lists',
  listsNote:
    'A request must be allowed by both the project’s list and its key’s list. An empty list allows any address.',
  listsCaption: 'Allowed addresses of the project and of each key',
  columns: { of: 'List', allowed: 'Allowed addresses', act: 'Action' },
  project: 'Whole project',
  any: 'any address',
  change: 'Change',
  callers: 'Recent callers',
  callersNote: 'Addresses of accepted requests, up to a minute old, at most twenty per key.',
  callersCaption: 'Addresses of accepted requests',
  callerColumns: { address: 'Address', key: 'Key', at: 'Last request', now: 'Now' },
  callersNone: 'No accepted requests yet. Addresses appear a minute after the first request.',
  allowed: 'Allowed',
  refused: 'Refused',
  readOnly: 'You can read these lists; only an owner of the project can change them.',
  ofOwners: 'Only owners of the project can change these lists, in their console.',
  edit: {
    projectTitle: 'Allowed addresses of the project',
    keyTitle: (name: string) => `Allowed addresses of “${name}”`,
    label: 'Allowed addresses and ranges',
    help: 'One address or range per line, such as 203.0.113.7 or 203.0.113.0/24. If empty, any address.',
    check: 'Check recent callers',
  },
  confirm: {
    title: 'Review before you save',
    anyone: 'The list is empty: any address is allowed.',
    none: 'All recent callers stay allowed.',
    noneSeen: 'There were no recent requests to compare the list with. Try the list with one key first.',
    locked: (count: number) =>
      count === 1
        ? 'This list locks out 1 address that was used recently'
        : `This list locks out ${count.toString()} addresses that were used recently`,
    lockedNote: 'Requests from these addresses are refused immediately with SOURCE_NOT_ALLOWED.',
    caption: 'Addresses that will be locked out',
    sure: 'Lock these addresses out',
    submit: 'Save list',
    done: 'List saved. It applies immediately.',
  },
} as const;
