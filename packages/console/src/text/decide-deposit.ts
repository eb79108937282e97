/** Texts of the decision on a held deposit. */
export const DECIDE_DEPOSIT = {
  act: 'Decide',
  title: (id: string) => `Held deposit ${id}`,
  facts: {
    project: 'Project',
    amount: 'Amount',
    why: 'State',
    sender: 'Sender',
    address: 'Deposit address',
    contract: 'Token contract',
    txid: 'Transaction',
    block: 'Block',
    small: 'Small deposits held with it',
    worth: 'Worth, with small deposits',
    balance: 'Balance now',
  },
  blockAt: (block: number) => `${block.toLocaleString('en')},`,
  noWorth:
    'Its worth is unknown or too large here. Wait for a rate of its minute, or use the command deposits resolve.',
  decision: 'Decision',
  choices: {
    credit: ['Credit it', 'Its worth is added to the balance, permanently.'],
    refuse: ['Refuse it', 'Nothing is credited, permanently. The project reads the reason.'],
  },
  reason: 'Reason',
  reasonHelp: 'What you found. Recorded with your name in the audit log.',
  submit: 'Decide on it',
  ask: 'Request approval',
  above: (limit: string) => `Decisions on more than ${limit} need the approval of another admin.`,
  done: { credit: 'Credited.', refuse: 'Refused. Nothing was credited.' },
  asked: 'Sent to the inbox for approval by another admin. The deposit stays held until then.',
} as const;
