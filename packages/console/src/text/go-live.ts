/** Texts of the go-live checklist. */
import type { GoLiveStep } from '../../../../src/modules/console/integration-shapes.js';

interface StepText {
  readonly words: string;
  /** Shown while the step is open. */
  readonly how: string;
}

export const GO_LIVE = {
  lead: 'The steps before real money, read from your records.',
  ofTest: 'This is a test project: these steps rehearse. The others are on the page of your live project.',
  list: 'Steps',
  done: 'Done',
  open: 'To do',
  optional: 'Optional',
  allDone: 'Every step is done.',
  count: (done: number, all: number) => `${done.toString()} of ${all.toString()} steps are done.`,
  see: 'See the checklist',
  more: 'What no record shows, such as retries with the same key, is in the guide',
  guide: 'Going live',
  steps: {
    key_used: {
      words: 'Sign a request with an API key',
      how: 'Create a key for each program, with only the scopes that it needs. Its use is recorded within a minute.',
    },
    requests_limited: {
      words: 'Limit requests to your addresses, or to HMAC',
      how: 'List your servers here, or accept only HMAC under Project.',
    },
    webhook_accepts: {
      words: 'Have a webhook accept a delivery',
      how: 'Create one and send it a test. A change of a webhook starts this step again.',
    },
    can_pay: {
      words: 'Have credits for an order',
      how: 'Top up, or ask your operator for other terms.',
    },
    low_balance: {
      words: 'Set a threshold that warns of a low balance',
      how: 'Set it to some days of spending. The warning is an event; choose e-mails under Notifications.',
    },
    daily_cap: {
      words: 'Limit the cost of a mistake by a daily cap',
      how: 'Set it well above an ordinary day, for the project or for each key that buys.',
    },
    people: {
      words: 'Have two people with a role here, each with a second factor',
      how: 'Invite a second person. Each sets up a second factor under My security.',
    },
    order_delivered: {
      words: 'Receive a first delivery',
      how: 'Buy one for a wallet of yours, and send one transfer from it.',
    },
  } satisfies Readonly<Record<GoLiveStep['step'], StepText>>,
  rehearsed: {
    words: 'Receive a delivery in a test project',
    how: 'Buy for a test address: nothing of it costs anything.',
    none: 'You are in no test project. Your operator can make one.',
  },
} as const;
