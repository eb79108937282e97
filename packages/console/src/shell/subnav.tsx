/** Links between related pages, above their headings. */
import { Link, useLocation } from 'wouter';
import { useOperatorProject } from '../api/operator-project.js';
import { NAV } from '../text/nav.js';
import { pathOf, useProject } from './project.js';

interface SubnavProps {
  readonly name: string;
  readonly pages: readonly (readonly [path: string, word: string])[];
}

function Subnav({ name, pages }: SubnavProps) {
  const [path] = useLocation();
  if (pages.length < 2) return null;
  const here = pages
    .map(([to]) => to)
    .filter((to) => isAt(path, to))
    .sort((one, other) => other.length - one.length)[0];
  return (
    <nav className="subnav" aria-label={name}>
      {pages.map(([to, word]) => (
        <Link key={to} href={to} {...(to === here && { 'aria-current': path === to ? 'page' : 'true' })}>
          {word}
        </Link>
      ))}
    </nav>
  );
}

/** True on the page and below it. Every page of a project is below its first one, so that one is only itself. */
function isAt(path: string, to: string): boolean {
  return path === to || (path.startsWith(`${to}/`) && !/^\/p\/[^/]+$/.test(to));
}

/** Navigation for an operator on a project's pages: the rail holds only the service's pages. */
export function OperatorProjectNav({ id }: { readonly id: string }) {
  const at = (rest: string) => pathOf(id, rest);
  const { data } = useOperatorProject(id, true);
  return (
    <>
      <p className="project-name">{data?.name ?? '…'}</p>
      <Subnav
        name={NAV.ofProject}
        pages={[
          [at(''), NAV.overview],
          [at('/orders'), NAV.orders],
          [at('/auto-delegation'), NAV.autoDelegation],
          [at('/billing/top-up'), NAV.deposits],
          [at('/billing/ledger'), NAV.ledger],
          [at('/billing/statements'), NAV.statements],
          [at('/integration/keys'), NAV.keys],
          [at('/integration/webhooks'), NAV.webhooks],
          [at('/integration/events'), NAV.events],
          [at('/integration/requests'), NAV.requests],
          [at('/integration/playground'), NAV.playground],
          [at('/team'), NAV.team],
          [at('/settings/sources'), NAV.sources],
          [at('/settings/project'), NAV.settings],
          [at('/go-live'), NAV.goLive],
        ]}
      />
    </>
  );
}

export function IntegrationNav() {
  const { id, membership } = useProject();
  if (membership === undefined) return null;
  return (
    <Subnav
      name={NAV.integration}
      pages={[
        [pathOf(id, '/integration/keys'), NAV.keys],
        [pathOf(id, '/integration/webhooks'), NAV.webhooks],
        [pathOf(id, '/integration/events'), NAV.events],
        [pathOf(id, '/integration/requests'), NAV.requests],
        [pathOf(id, '/integration/playground'), NAV.playground],
      ]}
    />
  );
}

export function InboxNav() {
  return (
    <Subnav
      name={NAV.inbox}
      pages={[
        ['/inbox', NAV.inbox],
        ['/inbox/approvals', NAV.approvals],
      ]}
    />
  );
}

export function SystemNav() {
  return (
    <Subnav
      name={NAV.system}
      pages={[
        ['/system', NAV.system],
        ['/system/audit', NAV.audit],
      ]}
    />
  );
}

export function SettingsNav() {
  const { id, membership } = useProject();
  if (membership === undefined) return null;
  return (
    <Subnav
      name={NAV.settings}
      pages={[
        [pathOf(id, '/settings/project'), NAV.projectSettings],
        [pathOf(id, '/team'), NAV.team],
        [pathOf(id, '/settings/sources'), NAV.sources],
        [pathOf(id, '/settings/notifications'), NAV.notifications],
        [pathOf(id, '/go-live'), NAV.goLive],
      ]}
    />
  );
}

/** Navigation of the operator's personal pages. */
export function OwnNav() {
  return (
    <Subnav
      name={NAV.own}
      pages={[
        ['/security', NAV.security],
        ['/notifications', NAV.notifications],
      ]}
    />
  );
}

export function BillingNav() {
  const { id, membership } = useProject();
  if (membership === undefined) return null;
  return (
    <Subnav
      name={NAV.billing}
      pages={[
        [pathOf(id, '/billing/top-up'), NAV.topUp],
        [pathOf(id, '/billing/ledger'), NAV.ledger],
        [pathOf(id, '/billing/statements'), NAV.statements],
      ]}
    />
  );
}
