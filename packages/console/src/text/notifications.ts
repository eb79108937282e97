import type { NotificationKind } from '../../../../src/domain/notification-kinds.js';

export const NOTIFICATIONS = {
  leadProject:
    'What you are notified of by e-mail when it happens in this project. It is your own choice: others have theirs.',
  leadOperator:
    'Which new lines of the inbox you are notified of by e-mail. It is your own choice: others have theirs.',
  section: 'E-mail',
  sectionNote: (email: string) => `To ${email}`,
  legend: 'Mail me about',
  kinds: {
    balance: ['A low balance', 'It fell below what the project’s settings name.'],
    deposits: ['Deposits', 'Credited, or held until your operator has looked.'],
    orders: ['Orders that need attention', 'An outcome that is not known yet, and orders that were refunded.'],
    auto_delegations: ['Paused auto-delegation', 'An address is not kept supplied any more, and why.'],
    webhooks: ['Failing webhooks', 'An hour without success, or switched off.'],
    keys: ['API keys', 'Made, given a new secret, or revoked: also by others.'],
    project: ['A frozen project', 'The operator refuses its requests, or serves it again.'],
    statements: ['Statements', 'The month is closed, and its statement can be read.'],
    fault: ['Faults', 'Something does not work: nothing is sold, a wallet or the workers stand still.'],
    warning: ['Warnings', 'Something waits for you: an order, a held deposit, a credit request.'],
    notice: ['Notices', 'What you should know and need not act on.'],
  } satisfies Record<NotificationKind, readonly [string, string]>,
  all: 'All of these',
  none: 'None',
  bound: (count: number) =>
    `At most ${count.toString()} mails an hour, whatever happens: what comes meanwhile is in the next one, with its number. A mail names what happened and leads here; it holds no key and no secret.`,
  save: 'Save my choice',
  saved: 'Saved. It holds from now on.',
  savedNone: 'Saved. You are notified of nothing by e-mail.',
  state: 'Last mail',
  never: 'None yet',
  failing: 'Mails to you are not taken',
  failingSays: (fault: string) => `Since then ${fault}. They are tried again for a day; nothing is lost until then.`,
  givenUp: (count: string) => `${count} things were in no mail`,
  givenUpSays: (fault: string) => `It was given up because ${fault}. They are in the console all the same.`,
  unproven: {
    title: 'Your address is not confirmed',
    says: (email: string) => `Nothing is mailed to ${email} until you have opened the link that we send there.`,
    submit: 'Mail me the link',
    sent: 'The link is on its way. Open it in this browser; it works for 24 hours.',
  },
  off: {
    title: 'E-mail is not set up here',
    project: 'Your operator has set up no mail server for this console, so nobody can be notified by e-mail.',
    operator: 'This console has no mail server, so nobody can be notified by e-mail.',
    instead: 'Your programs are notified of every event by webhook, and can read the log of events.',
    webhooks: 'Set up a webhook',
    setting: 'SMTP_URL and MAIL_FROM set one up; alerts of the metrics reach you without it.',
  },
} as const;
