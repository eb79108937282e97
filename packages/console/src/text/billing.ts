/** Texts of the ledger and of statements. */
export const LEDGER = {
  lead: 'Every movement of your credits, newest first. Their sum is your balance.',
  caption: 'Ledger, newest first',
  columns: { when: 'When', what: 'What', amount: 'Amount', proof: 'Proof' },
  kinds: {
    charge: 'Charge',
    refund: 'Refund',
    compensation: 'Compensation',
    deposit: 'Deposit',
    topup: 'Top-up',
    adjustment: 'Adjustment',
  },
  csv: 'CSV of all',
  csvFiltered: 'CSV of these',
  filter: 'Filter the ledger',
  emptyFiltered: 'Nothing moved on these days.',
  empty: 'Nothing has moved yet. Top up, and the first line is here.',
  atRate: (amount: string, rate: string) => `${amount} at ${rate} USD`,
  order: 'Order',
} as const;

export const STATEMENTS = {
  lead: 'A month of the ledger, closed for ever: opening and entries make the closing balance. Months are UTC months.',
  caption: 'Statements, newest first',
  columns: {
    number: 'Number',
    month: 'Month',
    opening: 'Opening',
    closing: 'Closing',
    entries: 'Entries',
    file: 'File',
  },
  csv: 'CSV',
  empty: 'No month is closed yet. The first statement comes with the first day of next month.',
} as const;
