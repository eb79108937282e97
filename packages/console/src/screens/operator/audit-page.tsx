/** The audit log of the whole service. */
import { Link } from 'wouter';
import type { ServiceAct } from '../../../../../src/modules/console/system-shapes.js';
import { withQuery } from '../../api/client.js';
import { usePages } from '../../api/project-data.js';
import { dayAfter } from '../../format/time.js';
import { Filter, isFilteredBy, useFiltered, type FilterField } from '../../parts/filter.js';
import { CodeWords } from '../../parts/code-words.js';
import { Groups, Moment } from '../../parts/figures.js';
import { Lines, type Column } from '../../parts/lines.js';
import { LoadedPages } from '../../parts/loaded-pages.js';
import { Page } from '../../parts/page.js';
import { pathOf } from '../../shell/project.js';
import { SystemNav } from '../../shell/subnav.js';
import { COMMON } from '../../text/common.js';
import { NAV } from '../../text/nav.js';
import { AUDIT } from '../../text/system.js';

const NAMES = ['from', 'to', 'by', 'kind', 'project', 'looks'] as const;
const FIELDS: readonly FilterField<(typeof NAMES)[number]>[] = [
  { name: 'from', label: COMMON.filter.from, isDay: true },
  { name: 'to', label: COMMON.filter.to, isDay: true },
  { name: 'by', label: AUDIT.filter.by, lengthMax: 200 },
  { name: 'kind', label: AUDIT.filter.kind, choices: Object.entries(AUDIT.kinds) },
  { name: 'project', label: AUDIT.filter.project, lengthMax: 100, isWide: true },
  { name: 'looks', label: AUDIT.filter.looks, isSwitch: true },
];
const PATH = '/api/operator/audit';

export function AuditPage() {
  const given = useFiltered(NAMES);
  const isFiltered = isFilteredBy(given);
  // `to` is exclusive in the API; the user means the whole last day.
  const filter = { ...given, to: given.to === '' ? '' : dayAfter(given.to) };
  const acts = usePages<ServiceAct>(['audit'], PATH, filter);
  return (
    <Page
      title={NAV.audit}
      lead={AUDIT.lead}
      above={<SystemNav />}
      actions={
        <a className="crumb" href={withQuery(`${PATH}.csv`, filter)} download>
          {isFiltered ? AUDIT.csvFiltered : AUDIT.csv}
        </a>
      }
    >
      <Filter legend={AUDIT.filter.legend} fields={FIELDS} />
      <LoadedPages query={acts} empty={<p>{isFiltered ? AUDIT.emptyFiltered : AUDIT.empty}</p>}>
        {(items) => <Lines caption={AUDIT.caption} columns={COLUMNS} items={items} keyOf={({ id }) => id} />}
      </LoadedPages>
    </Page>
  );
}

const titles = AUDIT.columns;
const ADDRESS = /^T\w{33}$/;

/** The name of the subject above its id. */
function Subject({ act: { subject, project, person } }: { readonly act: ServiceAct }) {
  if (ADDRESS.test(subject)) return <Groups text={subject} name={titles.subject} withoutCopy />;
  if (project === undefined && person === undefined) return <span className="mono">{subject}</span>;
  return (
    <>
      {project === undefined ? (
        <p>{person}</p>
      ) : (
        <Link href={pathOf(project.id, '/settings/project')}>{project.name}</Link>
      )}
      <p className="dim mono">{subject}</p>
    </>
  );
}

const COLUMNS: readonly Column<ServiceAct>[] = [
  { title: titles.when, cell: ({ at }) => <Moment at={at} /> },
  {
    title: titles.who,
    cell: ({ actor, role }) => (
      <>
        {actor}
        {role !== undefined && (
          <p className="dim">
            <CodeWords text={role} />
          </p>
        )}
      </>
    ),
  },
  { title: titles.action, cell: ({ action }) => <CodeWords text={action} /> },
  { title: titles.subject, cell: (act) => <Subject act={act} /> },
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
