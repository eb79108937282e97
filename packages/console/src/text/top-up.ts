/** Texts for on-chain deposits. */
import { daysText } from '../format/time.js';

export const TOP_UP = {
  lead: 'Send TRX or USDT to the address below. It is credited automatically, about a minute after its block.',
  leadOperator: 'The balance, the deposit address and the deposits of this project.',
  balance: 'Balance',
  left: (days: number) => `About ${daysText(days)} left at your average daily spending of the last seven days.`,
  nothingSpent: 'No spending in the last seven days.',
  postpaid: 'Postpaid: the balance may fall below zero, down to the limit agreed with your operator.',
  frozen: 'The project is frozen: purchases are refused. Deposits are still credited.',
  address: {
    title: 'Your deposit address',
    note: 'It belongs to this project only and never changes. Compare its groups of characters before you send.',
    name: 'deposit address',
    copy: 'Copy the address',
    qr: 'QR code of the deposit address',
    network: 'Network',
    checked: 'Address verified',
    accepts: 'Accepts',
    minimum: (amount: string) => `from ${amount}; smaller amounts wait until they add up`,
    contract: 'Token contract',
    withoutContracts: 'TRX sent by a contract is not detected here. Send TRX from an account.',
    only: 'No other token and no other network is credited.',
    none: 'On-chain deposits are not available here',
    noneBody: 'Your operator books top-ups manually. Contact the operator and give your Merchant ID:',
    test: 'A test project has no deposit address: its credits are play money.',
  },
  arriving: {
    title: 'Deposits',
    live: 'Live: a transfer appears here within one or two blocks.',
    away: 'Live updates are interrupted. They resume when the connection is back.',
    empty:
      'No deposits yet. Send TRX or USDT to the address above. You can leave this page; deposits are still credited.',
    caption: 'Deposits, newest first',
    columns: { amount: 'Received', status: 'Status', credited: 'Credited', block: 'Block', when: 'When' },
    atRate: (rate: string, asset: string) => `at ${rate} USD per ${asset}`,
    transaction: 'transaction ID',
    from: 'From',
    steps: { sent: 'In a block', solid: 'Final on chain', credited: 'Credited' },
    announce: {
      pending: (amount: string) => `${amount} seen on chain. It will be credited in about a minute.`,
      credited: (amount: string) => `${amount} credited.`,
    },
  },
} as const;
