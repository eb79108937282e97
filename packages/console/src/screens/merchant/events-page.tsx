/** The event log of a project, newest first. */
import type { EventShape } from '../../../../../src/modules/console/integration-shapes.js';
import { usePages } from '../../api/project-data.js';
import { grouped } from '../../format/money.js';
import { Moment } from '../../parts/figures.js';
import { Lines, type Column } from '../../parts/lines.js';
import { LoadedPages } from '../../parts/loaded-pages.js';
import { Page } from '../../parts/page.js';
import { useProject } from '../../shell/project.js';
import { EVENTS } from '../../text/integration.js';
import { NAV } from '../../text/nav.js';
import { IntegrationNav } from '../../shell/subnav.js';

const titles = EVENTS.columns;
const COLUMNS: readonly Column<EventShape>[] = [
  { title: titles.position, cell: ({ position }) => grouped(position) },
  { title: titles.type, cell: ({ type }) => <code>{type}</code> },
  { title: titles.when, cell: ({ timestamp }) => <Moment at={timestamp} /> },
  {
    title: titles.payload,
    cell: (event) => (
      <details className="help-inline">
        <summary>
          {EVENTS.payload}
          <span className="only-read"> {event.id}</span>
        </summary>
        <pre className="code-block" tabIndex={0}>
          {JSON.stringify(event, null, 2)}
        </pre>
      </details>
    ),
  },
];

export function EventsPage() {
  const { id, api } = useProject();
  const events = usePages<EventShape>(['project', id], `${api}/events`);
  return (
    <Page title={NAV.events} lead={EVENTS.lead} above={<IntegrationNav />}>
      <LoadedPages query={events} empty={<p>{EVENTS.empty}</p>}>
        {(items) => <Lines caption={EVENTS.caption} columns={COLUMNS} items={items} keyOf={(event) => event.id} />}
      </LoadedPages>
    </Page>
  );
}
