/** Routes for signed-in users, by audience. A project page has the same path for both audiences. */
import { useMemo, type ReactNode } from 'react';
import { Redirect, Route, Switch, useLocation } from 'wouter';
import type { SessionAnswer } from '../../../src/modules/console/api-shapes.js';
import { NotFoundPage } from './screens/not-found-page.js';
import { NoProjectPage } from './screens/merchant/no-project-page.js';
import { AutoDelegationPage } from './screens/merchant/auto-delegation-page.js';
import { AutoDelegationsPage } from './screens/merchant/auto-delegations-page.js';
import { DeliveryPage } from './screens/merchant/delivery-page.js';
import { EventsPage } from './screens/merchant/events-page.js';
import { GoLivePage } from './screens/merchant/go-live-page.js';
import { HomePage } from './screens/merchant/home-page.js';
import { KeysPage } from './screens/merchant/keys-page.js';
import { LedgerPage } from './screens/merchant/ledger-page.js';
import { PlaygroundPage } from './screens/merchant/playground-page.js';
import { ProjectSettingsPage } from './screens/merchant/project-settings-page.js';
import { RequestsPage } from './screens/merchant/requests-page.js';
import { SourcesPage } from './screens/merchant/sources-page.js';
import { StatementPage } from './screens/merchant/statement-page.js';
import { StatementsPage } from './screens/merchant/statements-page.js';
import { TopUpPage } from './screens/merchant/top-up-page.js';
import { WebhookPage } from './screens/merchant/webhook-page.js';
import { WebhooksPage } from './screens/merchant/webhooks-page.js';
import { ApprovalsPage } from './screens/operator/approvals-page.js';
import { OperatorDepositsPage } from './screens/operator/deposits-page.js';
import { AuditPage } from './screens/operator/audit-page.js';
import { InboxPage } from './screens/operator/inbox-page.js';
import { OperatorHomePage } from './screens/operator/home-page.js';
import { NewProjectPage } from './screens/operator/new-project-page.js';
import { OperatorOrdersPage } from './screens/operator/orders-page.js';
import { PoolPage } from './screens/operator/pool-page.js';
import { PricingPage } from './screens/operator/pricing-page.js';
import { ProjectsPage } from './screens/operator/projects-page.js';
import { ReportsPage } from './screens/operator/reports-page.js';
import { SystemPage } from './screens/operator/system-page.js';
import { OperatorNotificationsPage, ProjectNotificationsPage } from './screens/people/notifications-page.js';
import { PeoplePage, TeamPage } from './screens/people/pages.js';
import { SecurityPage } from './screens/people/security-page.js';
import { OrderPage } from './screens/order/order-page.js';
import { OrdersPage } from './screens/order/orders-page.js';
import { ExplainPage } from './screens/explain-page.js';
import { SearchPage } from './screens/search-page.js';
import { entriesOf } from './shell/entries.js';
import { decoded } from './shell/location.js';
import { PageBoundary } from './shell/page-boundary.js';
import { pathOf, ProjectContext, type ProjectOnPage } from './shell/project.js';
import { Shell } from './shell/shell.js';

const REMEMBERED = 'console.project';

export function Console({ session }: { readonly session: SessionAnswer }) {
  const [path] = useLocation();
  const isMerchant = session.audience === 'merchant';
  const named = /^\/p\/([^/]+)/.exec(path)?.[1];
  const first = isMerchant ? firstProject(session) : undefined;
  const project = useMemo<ProjectOnPage | undefined>(() => {
    const id = named ?? first;
    if (id === undefined) return undefined;
    const membership = session.projects?.find((one) => one.id === id);
    if (isMerchant && membership === undefined) return undefined;
    return { id, membership };
  }, [named, first, session, isMerchant]);
  if (project !== undefined && isMerchant) localStorage.setItem(REMEMBERED, project.id);
  return (
    <ProjectContext value={project}>
      <Shell session={session} entries={entriesOf(session.audience, project?.id)} project={project}>
        <PageBoundary key={path}>{pagesOf(session, project)}</PageBoundary>
      </Shell>
    </ProjectContext>
  );
}

function firstProject({ projects = [] }: SessionAnswer): string | undefined {
  const last = localStorage.getItem(REMEMBERED);
  return (projects.find(({ id }) => id === last) ?? projects[0])?.id;
}

function pagesOf({ audience, projects }: SessionAnswer, project: ProjectOnPage | undefined): ReactNode {
  if (audience === 'operator') {
    return (
      <Switch>
        <Route path="/" component={OperatorHomePage} />
        <Route path="/inbox" component={InboxPage} />
        <Route path="/inbox/approvals" component={ApprovalsPage} />
        <Route path="/orders" component={OperatorOrdersPage} />
        <Route path="/projects" component={ProjectsPage} />
        <Route path="/projects/new" component={NewProjectPage} />
        <Route path="/pricing" component={PricingPage} />
        <Route path="/pool" component={PoolPage} />
        <Route path="/deposits" component={OperatorDepositsPage} />
        <Route path="/reports" component={ReportsPage} />
        <Route path="/system" component={SystemPage} />
        <Route path="/system/audit" component={AuditPage} />
        <Route path="/people" component={PeoplePage} />
        <Route path="/security" component={SecurityPage} />
        <Route path="/notifications" component={OperatorNotificationsPage} />
        <Route path="/search">
          <SearchPage />
        </Route>
        <Route path="/explain">
          <ExplainPage />
        </Route>
        <Route path="/p/:project/*?">
          {project === undefined ? <NotFoundPage /> : <ProjectPages id={project.id} />}
        </Route>
        <Route component={NotFoundPage} />
      </Switch>
    );
  }
  if ((projects ?? []).length === 0) return <NoProjectPage />;
  return (
    <Switch>
      <Route path="/">{project !== undefined && <Redirect to={pathOf(project.id)} replace />}</Route>
      <Route path="/security" component={SecurityPage} />
      <Route path="/p/:project/*?">{project === undefined ? <NotFoundPage /> : <ProjectPages id={project.id} />}</Route>
      <Route component={NotFoundPage} />
    </Switch>
  );
}

/** Keyed by project id, so that no state of one project's page survives in another's. */
function ProjectPages({ id }: { readonly id: string }) {
  return (
    <Switch key={id}>
      <Route path="/p/:project" component={HomePage} />
      <Route path="/p/:project/orders" component={OrdersPage} />
      <Route path="/p/:project/orders/:key">{({ key }) => <OrderPage key={key} orderKey={decoded(key)} />}</Route>
      <Route path="/p/:project/auto-delegation" component={AutoDelegationsPage} />
      <Route path="/p/:project/auto-delegation/:address">
        {({ address }) => <AutoDelegationPage key={address} address={decoded(address)} />}
      </Route>
      <Route path="/p/:project/billing/top-up" component={TopUpPage} />
      <Route path="/p/:project/billing/ledger" component={LedgerPage} />
      <Route path="/p/:project/billing/statements" component={StatementsPage} />
      <Route path="/p/:project/billing/statements/:number">
        {({ number }) => <StatementPage key={number} number={number} />}
      </Route>
      <Route path="/p/:project/integration/keys" component={KeysPage} />
      <Route path="/p/:project/integration/webhooks" component={WebhooksPage} />
      <Route path="/p/:project/integration/webhooks/:id">
        {({ id: webhook }) => <WebhookPage key={webhook} webhookId={webhook} />}
      </Route>
      <Route path="/p/:project/integration/webhooks/:id/deliveries/:delivery">
        {({ id: webhook, delivery }) => <DeliveryPage key={delivery} webhookId={webhook} deliveryId={delivery} />}
      </Route>
      <Route path="/p/:project/integration/events" component={EventsPage} />
      <Route path="/p/:project/integration/requests" component={RequestsPage} />
      <Route path="/p/:project/integration/playground" component={PlaygroundPage} />
      <Route path="/p/:project/explain">
        <ExplainPage projectId={id} />
      </Route>
      <Route path="/p/:project/search">
        <SearchPage projectId={id} />
      </Route>
      <Route path="/p/:project/settings/project" component={ProjectSettingsPage} />
      <Route path="/p/:project/settings/sources" component={SourcesPage} />
      <Route path="/p/:project/settings/notifications" component={ProjectNotificationsPage} />
      <Route path="/p/:project/team" component={TeamPage} />
      <Route path="/p/:project/go-live" component={GoLivePage} />
      <Route component={NotFoundPage} />
    </Switch>
  );
}
