/** Texts for the pool, deposits of all projects, and reports. */
export const POOL = {
  lead: 'The wallets whose stake is lent out, as the chain said when they were last read.',
  wallets: 'Wallets',
  caption: 'Pool wallets',
  columns: {
    wallet: 'Wallet',
    status: 'Status',
    staked: 'Staked',
    sold: 'Lent',
    free: 'Free',
    balance: 'Balance',
    read: 'Read',
  },
  roles: { pool: 'Rents energy out', activation: 'Activates accounts' },
  forecast: 'Coming free',
  forecastNote:
    'What could be sold in so many hours: at least if all that is rented out is used up by its end, at most if none of it is.',
  forecastCaption: 'What comes free in the next hours',
  says: (now: string, hours: number, least: string, most: string) =>
    `${now} could be sold now; in ${hours.toString()} h from ${least} to ${most}, if nothing is sold meanwhile.`,
  forecastColumns: { hour: 'In', least: 'At least', most: 'At most', transactions: 'Transactions' },
  inHours: (hours: number) => (hours === 0 ? 'now' : `${hours.toString()} h`),
  empty: 'No wallet is in the pool yet: `pool add` puts one in, with its key.',
  active: 'active',
} as const;

export const DEPOSITS = {
  lead: 'What came to the addresses of all projects, newest first.',
  caption: 'Deposits, newest first',
  project: 'Project',
  filter: 'Filter the deposits',
  status: 'Status',
  empty: 'Nothing has come yet.',
  emptyFiltered: 'None of the newest deposits fits. Show more goes on with older ones.',
} as const;

export const REPORTS = {
  lead: 'Revenue, costs, margin and energy of some days, from the ledger and the chain’s receipts. UTC days.',
  from: 'From',
  to: 'To',
  by: 'By',
  bys: { day: 'Day', project: 'Project', wallet: 'Wallet' },
  show: 'Show',
  csv: 'CSV of these',
  caption: 'Report',
  saysMoney: (revenue: string, margin: string) => `By UTC day: ${revenue} of revenue, ${margin} of margin.`,
  saysEnergy: (sold: string, idle: string) => `By UTC day: ${sold} energy-hours sold, ${idle} idle.`,
  columns: {
    key: 'Of',
    revenue: 'Revenue',
    refunds: 'Refunds',
    compensations: 'Compensations',
    cost: 'Chain cost',
    margin: 'Margin',
    energy: 'Energy-hours sold',
    free: 'Free top-ups: energy, cost',
    idle: 'Energy-hours idle',
    recovering: 'Energy-hours recovering',
  },
  total: 'All',
  owed: 'Credits owed to merchants',
  debts: 'Debts of postpaid projects',
  held: (asset: string) => `Deposits held in ${asset}`,
  empty: 'Nothing happened in these days.',
} as const;
