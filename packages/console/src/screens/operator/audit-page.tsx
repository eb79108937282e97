import type { ServiceAct } from '../../../../../src/modules/console/system-shapes.js';
import { usePages } from '../../api/project-data.js';
import { Filter, isFilteredBy, useFiltered } from '../../parts/filter.js';
import { Moment } from '../../parts/figures.js';
import { Lines, type Column } from '../../parts/lines.js';
import { LoadedPages } from '../../parts/loaded-pages.js';
import { Page } from '../../parts/page.js';
import { SystemNav } from '../../shell/subnav.js';
import { NAV } from '../../text/nav.js';
import { AUDIT } from '../../text/system.js';

const NAMES = ['by', 'action', 'subject'] as const;
const FIELDS = NAMES.map((name) => ({ name, label: AUDIT.filter[name] }));

export function AuditPage() {
  const filter = useFiltered(NAMES);
  const acts = usePages<ServiceAct>(['audit'], '/api/operator/audit', filter);
  const isFiltered = isFilteredBy(filter);
  return (
    <Page title={NAV.audit} lead={AUDIT.lead} above={<SystemNav />}>
      <Filter legend={AUDIT.filter.legend} fields={FIELDS} />
      <LoadedPages query={acts} empty={<p>{isFiltered ? AUDIT.emptyFiltered : AUDIT.empty}</p>}>
        {(items) => <Lines caption={AUDIT.caption} columns={COLUMNS} items={items} keyOf={({ id }) => id} />}
      </LoadedPages>
    </Page>
  );
}

const titles = AUDIT.columns;
const COLUMNS: readonly Column<ServiceAct>[] = [
  { title: titles.when, cell: ({ at }) => <Moment at={at} /> },
  {
    title: titles.who,
    cell: ({ actor, role }) => (
      <>
        {actor}
        {role !== undefined && <p className="dim mono">{role}</p>}
      </>
    ),
  },
  { title: titles.action, cell: ({ action }) => <code>{action}</code> },
  { title: titles.subject, cell: ({ subject }) => <span className="mono">{subject}</span> },
  {
    title: titles.reason,
    cell: ({ reason, detail }) => (
      <>
        {reason ?? '–'}
        {detail !== undefined && (
          <details>
            <summary>{AUDIT.detail}</summary>
            <pre className="answer">{JSON.stringify(detail, null, 2)}</pre>
          </details>
        )}
      </>
    ),
  },
];
