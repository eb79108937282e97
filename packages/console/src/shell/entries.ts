/** Entries of the navigation rail and of the bottom bar. */
import type { Audience } from '../../../../src/modules/console/api-shapes.js';
import type { IconName } from '../parts/icons.js';
import { NAV } from '../text/nav.js';
import { pathOf } from './project.js';

export interface Entry {
  readonly path: string;
  readonly word: string;
  readonly icon: IconName;
  /** Path prefixes of its pages. */
  readonly within: readonly string[];
}

export function isWithin(entry: Entry, path: string): boolean {
  return path === entry.path || entry.within.some((start) => path.startsWith(start));
}

function merchantEntries(projectId: string): Entry[] {
  const at = (rest: string) => pathOf(projectId, rest);
  return [
    { path: at(''), within: [], word: NAV.home, icon: 'home' },
    { path: at('/orders'), within: [at('/orders'), at('/explain')], word: NAV.orders, icon: 'orders' },
    { path: at('/auto-delegation'), within: [at('/auto-delegation')], word: NAV.autoDelegation, icon: 'refill' },
    { path: at('/billing/top-up'), within: [at('/billing')], word: NAV.billing, icon: 'money' },
    { path: at('/integration/keys'), within: [at('/integration')], word: NAV.integration, icon: 'keys' },
    {
      path: at('/settings/project'),
      within: [at('/settings'), at('/team'), at('/go-live')],
      word: NAV.settings,
      icon: 'settings',
    },
    { path: '/security', within: [], word: NAV.security, icon: 'account' },
  ];
}

const OPERATOR: readonly Entry[] = [
  { path: '/', within: [], word: NAV.home, icon: 'home' },
  { path: '/inbox', within: ['/inbox'], word: NAV.inbox, icon: 'inbox' },
  { path: '/orders', within: ['/orders', '/explain'], word: NAV.orders, icon: 'orders' },
  { path: '/projects', within: ['/projects', '/p/'], word: NAV.projects, icon: 'projects' },
  { path: '/pool', within: [], word: NAV.pool, icon: 'pool' },
  { path: '/pricing', within: ['/pricing'], word: NAV.pricing, icon: 'price' },
  { path: '/deposits', within: [], word: NAV.deposits, icon: 'deposits' },
  { path: '/reports', within: [], word: NAV.reports, icon: 'reports' },
  { path: '/system', within: ['/system'], word: NAV.system, icon: 'system' },
  { path: '/people', within: [], word: NAV.people, icon: 'people' },
  { path: '/security', within: ['/notifications'], word: NAV.security, icon: 'account' },
];

export function entriesOf(audience: Audience, projectId: string | undefined): readonly Entry[] {
  if (audience === 'operator') return OPERATOR;
  return projectId === undefined ? [] : merchantEntries(projectId);
}
