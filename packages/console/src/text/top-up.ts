/** Texts for on-chain deposits. */
import { daysText } from '../format/time.js';

export const TOP_UP = {
  lead: 'Send TRX or USDT to the address below. It is credited by itself, about a minute after its block.',
  balance: 'Balance',
  left: (days: number) => `About ${daysText(days)} left`,
  leftNote: 'At what you spent a day in the last seven days',
  nothingSpent: 'Nothing was spent in the last seven days.',
  postpaid: 'Postpaid: orders go on below zero, to the limit agreed with your operator.',
  frozen: 'The project is frozen: purchases are refused. Deposits are credited all the same.',
  address: {
    title: 'Your address',
    note: 'This project’s own, and always the same. Compare its groups before you send.',
    name: 'deposit address',
    copy: 'Copy the address',
    qr: 'QR code of the deposit address',
    network: 'Network',
    checked: 'Derived anew and compared',
    accepts: 'Takes',
    minimum: (amount: string) => `from ${amount}; smaller amounts wait until they add up`,
    contract: 'Token contract',
    withoutContracts: 'TRX that a contract sends is not seen here; send it from an account.',
    only: 'Nothing else is credited: no other token, no other network.',
    none: 'Deposits on chain are not in use here',
    noneBody: 'Your operator books top-ups by hand. Ask there, and name your Merchant ID:',
    test: 'A test project has no address: its credits are no money.',
  },
  arriving: {
    title: 'Arriving',
    live: 'Watching the chain: what you send shows here within a block or two.',
    away: 'Not watching just now; this goes on by itself once connected.',
    empty:
      'Nothing has come yet. Send something to the address above and leave this page open, or come back later: nothing is missed.',
    caption: 'Deposits, newest first',
    columns: { amount: 'Came', status: 'Status', credited: 'Credited', block: 'Block', when: 'When' },
    atRate: (rate: string, asset: string) => `at ${rate} USD per ${asset}`,
    transaction: 'transaction id',
    from: 'From',
    steps: { sent: 'In a block', solid: 'Final on chain', credited: 'Credited' },
    announce: {
      pending: (amount: string) => `${amount} seen on chain. Credited in about a minute.`,
      credited: (amount: string) => `${amount} credited.`,
    },
  },
} as const;
