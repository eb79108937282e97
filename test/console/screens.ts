// Every screen in the state its users find it, for axe, width checks and pictures.
import type { Account, ConsoleCluster } from './cluster.js';
import { button, field, type View } from './view.js';

export interface Screen {
  readonly name: string;
  readonly url: (cluster: ConsoleCluster) => string;
  readonly as?: (cluster: ConsoleCluster) => Account;
  /** Waits until the screen has loaded. */
  readonly ready: (view: View) => Promise<void>;
  /** Acts on the screen before it is checked. */
  readonly act?: (view: View) => Promise<void>;
}

const owner = (cluster: ConsoleCluster): Account => cluster.owner;
const admin = (cluster: ConsoleCluster): Account => cluster.admin;
const heading = (text: string | RegExp) => (view: View) => view.heading(text).waitFor();
const table = (view: View): Promise<void> => view.page.getByRole('table').first().waitFor();
const text = (words: string) => (view: View) => view.page.getByText(words).first().waitFor();
const within = (path: string) => (cluster: ConsoleCluster) => `${cluster.merchant}/p/${cluster.project.id}${path}`;
const operator = (path: string) => (cluster: ConsoleCluster) =>
  `${cluster.operator}${path.replace(':project', cluster.project.id)}`;

/** Keys of the two orders that the cluster has bought. */
export const DELIVERED = 'payout-2026-11-24';
export const REFUNDED = 'payout-2026-11-23';
/** The key of one with bandwidth and an activation. */
export const BUNDLE = 'payout-2026-11-25';

export const SCREENS: readonly Screen[] = [
  { name: 'sign-in', url: ({ merchant }) => `${merchant}/`, ready: heading('Sign in') },
  {
    name: 'invitation-gone',
    url: ({ merchant }) => `${merchant}/invitation#gone`,
    ready: heading('This invitation is no longer valid'),
  },
  { name: 'home', url: within(''), as: owner, ready: table },
  { name: 'orders', url: within('/orders'), as: owner, ready: table },
  {
    name: 'orders-empty',
    url: within('/orders?status=unresolved'),
    as: owner,
    ready: text('No order matches'),
  },
  {
    name: 'buy-energy',
    url: within('/orders'),
    as: owner,
    ready: table,
    act: async (view) => {
      await button(view, 'Buy energy').click();
      await view.page.getByRole('dialog').getByText('Duration').waitFor();
    },
  },
  { name: 'order', url: within(`/orders/${DELIVERED}`), as: owner, ready: table },
  { name: 'order-bundle', url: within(`/orders/${BUNDLE}`), as: owner, ready: table },
  { name: 'order-refunded', url: within(`/orders/${REFUNDED}`), as: owner, ready: table },
  { name: 'auto-delegations', url: within('/auto-delegation'), as: owner, ready: table },
  {
    name: 'auto-delegations-empty',
    url: within('/auto-delegation?state=ended'),
    as: owner,
    ready: text('No auto-delegation is in this state'),
  },
  {
    name: 'auto-delegation-cost',
    url: within('/auto-delegation'),
    as: owner,
    ready: table,
    act: async (view) => {
      await button(view, 'Add an auto-delegation').click();
      await field(view, 'Address').fill('TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t');
      await field(view, /^Energy to keep/).fill('131,000');
      await field(view, /^Daily cap/).fill('5');
      await button(view, 'Show the cost').click();
      await view.page.getByRole('dialog', { name: 'Cost' }).waitFor();
    },
  },
  {
    name: 'auto-delegation',
    url: ({ merchant, project, service }) =>
      `${merchant}/p/${project.id}/auto-delegation/${service.accounts[1]?.address ?? ''}`,
    as: owner,
    ready: text('Usable energy'),
  },
  {
    name: 'top-up',
    url: within('/billing/top-up'),
    as: owner,
    ready: (view) => view.page.getByRole('img').first().waitFor(),
  },
  { name: 'ledger', url: within('/billing/ledger'), as: owner, ready: table },
  { name: 'statements', url: within('/billing/statements'), as: owner, ready: text('No statements yet') },
  { name: 'statement-open', url: within('/billing/statements/open'), as: owner, ready: text('Opening balance') },
  { name: 'keys', url: within('/integration/keys'), as: owner, ready: table },
  {
    name: 'key-rotation',
    url: within('/integration/keys'),
    as: owner,
    ready: table,
    act: async ({ page }) => {
      await page
        .getByRole('button', { name: /^Rotate/ })
        .first()
        .click();
      await page.getByText('3 auto-delegations').waitFor();
    },
  },
  {
    name: 'key-making',
    url: within('/integration/keys'),
    as: owner,
    ready: table,
    act: async (view) => button(view, 'Create key').click(),
  },
  { name: 'notifications', url: within('/settings/notifications'), as: owner, ready: text('E-mail me about') },
  {
    name: 'project-rename',
    url: within('/settings/project'),
    as: owner,
    ready: text('Merchant ID'),
    act: async ({ page }) => {
      await page.getByRole('button', { name: 'Rename' }).click();
      await page.getByRole('dialog').waitFor();
    },
  },
  { name: 'notifications-off', url: operator('/notifications'), as: admin, ready: text('E-mail is not set up here') },
  { name: 'webhooks', url: within('/integration/webhooks'), as: owner, ready: text('No webhooks yet') },
  {
    name: 'webhook-making',
    url: within('/integration/webhooks'),
    as: owner,
    ready: text('No webhooks yet'),
    act: async (view) => {
      await button(view, 'Create webhook').click();
      await view.page.getByRole('checkbox', { name: /^All events/ }).uncheck();
      await view.page.getByRole('checkbox', { name: 'order.delivered' }).check();
    },
  },
  { name: 'events', url: within('/integration/events'), as: owner, ready: table },
  { name: 'requests', url: within('/integration/requests'), as: owner, ready: table },
  {
    name: 'playground',
    url: within('/integration/playground'),
    as: owner,
    ready: heading('Playground'),
    act: async (view) => {
      await field(view, /^Receiver/).fill('TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t');
      await button(view, 'Show the price').click();
      await view.page.getByText('Saved if all of it is used').waitFor();
    },
  },
  {
    name: 'search-nothing',
    url: within('/search?q=nothing'),
    as: owner,
    ready: text('Nothing matches exactly'),
  },
  {
    name: 'search',
    url: ({ merchant, project, service }) =>
      `${merchant}/p/${project.id}/search?q=${service.accounts[2]?.address ?? ''}`,
    as: owner,
    ready: table,
  },
  { name: 'project-settings', url: within('/settings/project'), as: owner, ready: text('Signatures') },
  { name: 'sources', url: within('/settings/sources'), as: owner, ready: table },
  {
    name: 'sources-locking-out',
    url: within('/settings/sources'),
    as: owner,
    ready: table,
    act: async (view) => {
      await view.page.getByRole('button', { name: 'Change Whole project' }).click();
      await field(view, /^Allowed addresses and ranges/).fill('203.0.113.0/24');
      await button(view, 'Check recent callers').click();
      await view.page.getByText('Lock these addresses out').waitFor();
    },
  },
  { name: 'go-live', url: within('/go-live'), as: owner, ready: text('steps are done') },
  {
    name: 'explain',
    url: within(`/explain?txid=${'ab'.repeat(32)}`),
    as: owner,
    ready: text('No node knows this transaction'),
  },
  { name: 'team', url: within('/team'), as: owner, ready: table },
  { name: 'security', url: ({ merchant }) => `${merchant}/security`, as: owner, ready: table },
  { name: 'not-found', url: within('/nothing'), as: owner, ready: heading('Page not found') },
  { name: 'operator-home', url: operator('/'), as: admin, ready: text('Margin') },
  { name: 'operator-orders', url: operator('/orders'), as: admin, ready: table },
  { name: 'pool', url: operator('/pool'), as: admin, ready: table },
  { name: 'deposits', url: operator('/deposits'), as: admin, ready: text('No deposits yet') },
  { name: 'reports', url: operator('/reports'), as: admin, ready: table },
  { name: 'projects', url: operator('/projects'), as: admin, ready: table },
  { name: 'new-project', url: operator('/projects/new'), as: admin, ready: heading('New project') },
  { name: 'pricing', url: operator('/pricing'), as: admin, ready: table },
  {
    name: 'price-effect',
    url: operator('/pricing'),
    as: admin,
    ready: table,
    act: async (view) => {
      await view.page
        .getByRole('button', { name: /^Change/ })
        .first()
        .click();
      await field(view, 'Sun per energy').fill('55');
      await button(view, 'Show the effect').click();
      await view.page.getByRole('dialog', { name: 'Effect of this change' }).waitFor();
    },
  },
  { name: 'operator-order', url: operator(`/p/:project/orders/${DELIVERED}`), as: admin, ready: table },
  { name: 'operator-order-bundle', url: operator(`/p/:project/orders/${BUNDLE}`), as: admin, ready: table },
  { name: 'inbox', url: operator('/inbox'), as: admin, ready: text('need a person') },
  { name: 'approvals', url: operator('/inbox/approvals'), as: admin, ready: heading('Approvals') },
  {
    name: 'book-credits',
    url: operator('/projects'),
    as: admin,
    ready: table,
    act: async (view) => {
      await view.page.getByRole('button', { name: /^Book credits/ }).click();
      await field(view, 'Amount in dollars').fill('2500');
      await view.page.getByText('need the approval of another admin').waitFor();
    },
  },
  { name: 'system', url: operator('/system'), as: admin, ready: table },
  { name: 'audit-log', url: operator('/system/audit'), as: admin, ready: table },
  {
    name: 'operator-search',
    url: operator('/search?q=nothing'),
    as: admin,
    ready: text('Nothing matches exactly'),
  },
  { name: 'operator-auto-delegations', url: operator('/p/:project/auto-delegation'), as: admin, ready: table },
  { name: 'people', url: operator('/people'), as: admin, ready: table },
];
