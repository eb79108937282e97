/** Texts of confirmations before actions that cost money or cannot be undone. */
export const CONFIRM = {
  type: (name: string) => `Type “${name}” to confirm`,
  costs: 'Cost',
  balanceAfter: 'Balance after',
} as const;
