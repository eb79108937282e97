/** Refused requests with their reasons. */
import type { RefusedShape } from '../../../../../src/modules/console/integration-shapes.js';
import { usePages } from '../../api/project-data.js';
import { CodeWords } from '../../parts/code-words.js';
import { Moment } from '../../parts/figures.js';
import { Lines, type Column } from '../../parts/lines.js';
import { LoadedPages } from '../../parts/loaded-pages.js';
import { Page } from '../../parts/page.js';
import { useProject } from '../../shell/project.js';
import { REQUESTS } from '../../text/integration.js';
import { NAV } from '../../text/nav.js';
import { IntegrationNav } from '../../shell/subnav.js';

const titles = REQUESTS.columns;
const COLUMNS: readonly Column<RefusedShape>[] = [
  { title: titles.when, cell: ({ at }) => <Moment at={at} /> },
  { title: titles.request, cell: ({ method, path }) => <code className="request-line">{`${method} ${path}`}</code> },
  {
    title: titles.answer,
    cell: ({ status, error }) => (
      <>
        <code>{status}</code> <CodeWords text={error} />
      </>
    ),
  },
  {
    title: titles.reason,
    cell: ({ reason, omitted, request_id: requestId }) => (
      <>
        {reason}
        {omitted !== undefined && omitted > 0 && <p className="dim">{REQUESTS.omitted(omitted)}</p>}
        <p className="dim mono">{requestId}</p>
      </>
    ),
  },
  {
    title: titles.from,
    cell: ({ source_address: source, key }) => (
      <>
        {source}
        {key !== undefined && <p className="dim">{key}</p>}
      </>
    ),
  },
];

export function RequestsPage() {
  const { id, api } = useProject();
  const requests = usePages<RefusedShape>(['project', id], `${api}/requests`);
  return (
    <Page title={NAV.requests} lead={REQUESTS.lead} above={<IntegrationNav />}>
      <LoadedPages query={requests} empty={<p>{REQUESTS.empty}</p>}>
        {(items) => (
          <Lines
            caption={REQUESTS.caption}
            columns={COLUMNS}
            items={items}
            keyOf={({ at, request_id: requestId }) => `${at} ${requestId}`}
          />
        )}
      </LoadedPages>
    </Page>
  );
}
