/** Texts of the ledger and of statements. */
import { grouped } from '../format/money.js';

export const LEDGER = {
  lead: 'Every movement of your credits, newest first. Their sum is your balance.',
  caption: 'Ledger, newest first',
  columns: { when: 'When', what: 'Entry', amount: 'Amount', proof: 'Proof' },
  kinds: {
    charge: 'Charge',
    refund: 'Refund',
    compensation: 'Compensation',
    deposit: 'Deposit',
    topup: 'Top-up',
    adjustment: 'Adjustment',
  },
  csv: 'CSV of all entries',
  csvFiltered: 'CSV of these entries',
  filter: 'Filter the ledger',
  emptyFiltered: 'No entries on these days.',
  empty: 'No entries yet. Your first top-up is the first entry.',
  atRate: (amount: string, rate: string) => `${amount} at ${rate} USD`,
  order: 'Order',
} as const;

export const STATEMENTS = {
  lead: 'Each statement is one UTC month of the ledger: the opening balance and the entries add up to the closing balance. A closed month never changes.',
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
  openMonth: 'Statement of the open month',
  empty: 'No statements yet. The first appears on the first day of next month.',
} as const;

export const STATEMENT = {
  title: (number: number | string) => `Statement ${number.toString()}`,
  open: 'Open month',
  back: 'All statements',
  print: 'Print or save as PDF',
  csv: 'CSV of its entries',
  caption: 'Entries, oldest first',
  columns: { when: 'Time (UTC)', what: 'Entry', of: 'Order or reference', amount: 'Amount', balance: 'Balance' },
  more: (shown: number, all: number) =>
    `The first ${grouped(shown)} of ${grouped(all)} entries. The printed statement has all of them.`,
  tooLong:
    'This statement has more than 10\u00a0000 entries, so only its sums are shown and printed. The CSV has each entry.',
  project: 'Project',
  merchantId: 'Merchant ID',
  period: 'Period',
  to: 'to',
  opening: 'Opening balance',
  closing: 'Closing balance',
  balance: 'Balance until now',
  entries: 'Entries',
  closedAt: 'Closed',
  notFinal: 'Not final: its entries until now. The statement is closed on the first day of next month.',
  tooMany: 'This month has more than 100\u00a0000 entries. Its sums appear when it is closed; the CSV has each entry.',
  final: 'Final: a closed month never changes.',
  measured: {
    title: 'Measured saving',
    note: (month: string) =>
      `Not part of the statement. Computed from final blocks when this page was loaded, for rentals charged in ${month} (UTC). It can change until the last of them ends.`,
    used: 'Energy used',
    burning: 'Burning TRX for it',
    saved: 'Saved compared with burning',
  },
} as const;
