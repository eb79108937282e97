/** One or two words for each status. */
export const STATUS = {
  order: {
    reserved: 'Charged',
    placed: 'In progress',
    unresolved: 'Outcome open',
    delivered: 'Delivered',
    ended: 'Ended',
    refunded: 'Refunded',
  },
  orderKind: { rental: 'Energy rental', activation: 'Activation' },
  deposit: { pending: 'Seen', credited: 'Credited', held: 'Held', ignored: 'Not credited', dropped: 'Reverted' },
} as const;
