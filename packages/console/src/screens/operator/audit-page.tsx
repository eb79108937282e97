/** Who did what to the service. */
import { Button, TextInput } from '@mantine/core';
import { useState, type SubmitEvent } from 'react';
import { useSearchParams } from 'wouter';
import type { ServiceAct } from '../../../../../src/console/system-shapes.js';
import { usePages } from '../../api/project-data.js';
import { Moment } from '../../parts/figures.js';
import { Lines, type Column } from '../../parts/lines.js';
import { LoadedPages } from '../../parts/loaded-pages.js';
import { Page } from '../../parts/page.js';
import { SystemNav } from '../../shell/subnav.js';
import { NAV } from '../../text/nav.js';
import { AUDIT } from '../../text/system.js';

const NAMES = ['by', 'action', 'subject'] as const;

export function AuditPage() {
  const [search] = useSearchParams();
  const filter = Object.fromEntries(NAMES.map((name) => [name, search.get(name) ?? '']));
  const acts = usePages<ServiceAct>(['audit'], '/api/operator/audit', filter);
  const isFiltered = Object.values(filter).some((value) => value !== '');
  return (
    <Page title={NAV.audit} lead={AUDIT.lead} above={<SystemNav />}>
      <Filter key={search.toString()} given={filter} isFiltered={isFiltered} />
      <LoadedPages query={acts} empty={<p>{isFiltered ? AUDIT.emptyFiltered : AUDIT.empty}</p>}>
        {(items) => <Lines caption={AUDIT.caption} columns={COLUMNS} items={items} keyOf={({ id }) => id} />}
      </LoadedPages>
    </Page>
  );
}

interface FilterProps {
  readonly given: Readonly<Record<string, string>>;
  readonly isFiltered: boolean;
}

function Filter({ given, isFiltered }: FilterProps) {
  const [, setSearch] = useSearchParams();
  const [typed, setTyped] = useState(given);
  const apply = (event: SubmitEvent) => {
    event.preventDefault();
    setSearch(
      Object.fromEntries(
        Object.entries(typed).flatMap(([name, value]) => (value.trim() ? [[name, value.trim()]] : [])),
      ),
    );
  };
  return (
    <form className="filter" onSubmit={apply}>
      {NAMES.map((name) => (
        <TextInput
          key={name}
          label={AUDIT.filter[name]}
          autoComplete="off"
          spellCheck={false}
          value={typed[name] ?? ''}
          onChange={({ currentTarget: { value } }) => setTyped({ ...typed, [name]: value })}
        />
      ))}
      <Button type="submit" variant="default">
        {AUDIT.filter.apply}
      </Button>
      {isFiltered && (
        <button type="button" className="link-button" onClick={() => setSearch({})}>
          {AUDIT.filter.clear}
        </button>
      )}
    </form>
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
