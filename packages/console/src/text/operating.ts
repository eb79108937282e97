/** Texts for the pool, deposits of all projects, and reports. */
export const POOL = {
  lead: 'The wallets whose stake is delegated, as last read from the chain.',
  wallets: 'Wallets',
  caption: 'Pool wallets',
  columns: {
    wallet: 'Wallet',
    status: 'Status',
    staked: 'Staked',
    sold: 'Delegated',
    reserved: 'Reserved',
    free: 'Free',
    balance: 'Balance',
    read: 'Last read',
  },
  bandwidth: 'Stake for bandwidth',
  bandwidthNote: 'Free is what can be sold now, or make up for what a running rental lacks.',
  roles: { pool: 'Rents energy out', activation: 'Activates accounts' },
  forecast: 'Capacity forecast',
  forecastNote:
    'The energy that can be sold in the next hours. The minimum assumes that all rented energy is used before its rental ends, the maximum that none is used.',
  forecastCaption: 'Capacity in the next hours',
  says: (now: string, hours: number, least: string, most: string) =>
    `${now} can be sold now; in ${hours.toString()} h, ${least} to ${most} if nothing is sold meanwhile.`,
  forecastColumns: { hour: 'In', least: 'At least', most: 'At most', transactions: 'Transactions' },
  inHours: (hours: number) => (hours === 0 ? 'now' : `${hours.toString()} h`),
  empty: 'The pool has no wallets yet. Add one with its key: `pool add`.',
  statuses: { active: 'Active', paused: 'Paused' } as Readonly<Record<string, string>>,
} as const;

export const DEPOSITS = {
  lead: 'Deposits to the addresses of all projects, newest first.',
  caption: 'Deposits, newest first',
  project: 'Project',
  filter: 'Filter the deposits',
  status: 'Status',
  act: 'Action',
  empty: 'No deposits yet. A deposit to the address of a project appears here within one or two blocks.',
  emptyFiltered: 'None of the newest deposits matches. “Show more” continues with older ones.',
} as const;

export const REPORTS = {
  lead: 'Revenue, costs, margin and energy per UTC day, project or wallet, from the ledger and the chain’s receipts.',
  by: 'Group by',
  bys: { day: 'Day', project: 'Project', wallet: 'Wallet' },
  csv: 'CSV of this report',
  caption: 'Report',
  saysMoney: (revenue: string, margin: string) => `By UTC day: ${revenue} revenue, ${margin} margin.`,
  saysEnergy: (sold: string, idle: string) => `By UTC day: ${sold} energy-hours sold, ${idle} idle.`,
  withBandwidth: (energy: string, bandwidth: string) => `${energy}, ${bandwidth} bandwidth`,
  columns: {
    key: 'Group',
    revenue: 'Revenue',
    refunds: 'Refunds',
    compensations: 'Compensations',
    cost: 'Chain cost',
    margin: 'Margin',
    energy: 'Energy-hours sold',
    bandwidth: 'Bandwidth-hours sold',
    free: 'Free top-ups',
    idle: 'Energy-hours idle',
    recovering: 'Energy-hours recovering',
  },
  total: 'Total',
  owed: 'Credits owed to merchants',
  debts: 'Debts of postpaid projects',
  held: (asset: string) => `Deposits held in ${asset}`,
  empty: 'Nothing was recorded on these days.',
} as const;
