/** Search results. A single result opens its page immediately. */
import { useQuery } from '@tanstack/react-query';
import { Link, Redirect, useSearchParams } from 'wouter';
import type { SearchAnswer, SearchHit } from '../../../../src/modules/console/search-shapes.js';
import { get } from '../api/client.js';
import { grouped } from '../format/money.js';
import { Groups, Moment } from '../parts/figures.js';
import { Lines, type Column } from '../parts/lines.js';
import { Loaded } from '../parts/loaded.js';
import { Page } from '../parts/page.js';
import { orderPath, pathOf } from '../shell/project.js';
import { EXPLAIN } from '../text/explain.js';
import { SEARCH } from '../text/search.js';
import { explainPath } from './explain-page.js';

const TXID = /^[0-9a-fA-F]{64}$/;

interface SearchPageProps {
  /** Absent for a search over the whole service. */
  readonly projectId?: string;
}

export function SearchPage({ projectId }: SearchPageProps) {
  const [search] = useSearchParams();
  const sought = search.get('q')?.trim() ?? '';
  const path = projectId === undefined ? '/api/operator/search' : `/api/projects/${projectId}/search`;
  const answer = useQuery({
    queryKey: ['search', path, sought],
    queryFn: ({ signal }) => get<SearchAnswer>(path, { q: sought }, { signal }),
    enabled: sought !== '',
  });
  const [only, ...others] = answer.data?.items ?? [];
  if (only !== undefined && others.length === 0) return <Redirect to={placeOf(only, projectId)} replace />;
  return (
    <Page title={sought === '' ? SEARCH.titleNone : SEARCH.title(sought)}>
      {sought === '' ? (
        <p>{SEARCH.whole}</p>
      ) : (
        <Loaded
          query={answer}
          isEmpty={({ items }) => items.length === 0}
          empty={<None answer={answer.data} sought={sought} projectId={projectId} />}
        >
          {({ items }) => (
            <Lines
              caption={SEARCH.caption}
              columns={columnsOf(projectId)}
              items={items}
              keyOf={({ kind, name, project }) => [kind, name, project?.id].join(' ')}
            />
          )}
        </Loaded>
      )}
    </Page>
  );
}

interface NoneProps {
  readonly answer: SearchAnswer | undefined;
  readonly sought: string;
  readonly projectId: string | undefined;
}

/** A transaction of ours is found; another one may be a transfer of a receiver. */
function None({ answer, sought, projectId }: NoneProps) {
  return (
    <>
      <p>{SEARCH.none}</p>
      {TXID.test(sought) && (
        <p>
          {SEARCH.explain} <Link href={explainPath(projectId, sought)}>{EXPLAIN.link}</Link>
        </p>
      )}
      <p className="dim">{SEARCH.whole}</p>
      {answer !== undefined && <p className="dim">{SEARCH.noneWhere(grouped(answer.newest_orders))}</p>}
    </>
  );
}

/** Returns the path of a result's page. */
function placeOf({ kind, name, project }: SearchHit, projectId: string | undefined): string {
  const id = project?.id ?? projectId ?? '';
  switch (kind) {
    case 'order':
      return orderPath(id, name);
    case 'receiver':
      return pathOf(id, `/orders?receiver=${name}`);
    case 'auto_delegation':
      return pathOf(id, `/auto-delegation/${name}`);
    case 'deposit':
    case 'deposit_address':
      return pathOf(id, '/billing/top-up');
    case 'refused_request':
      return pathOf(id, '/integration/requests');
    case 'api_key':
      return pathOf(id, '/integration/keys');
    case 'webhook':
      return pathOf(id, `/integration/webhooks/${name}`);
    case 'project':
      return pathOf(name);
    case 'wallet':
      return '/pool';
  }
}

const titles = SEARCH.columns;

function columnsOf(projectId: string | undefined): Column<SearchHit>[] {
  return [
    {
      title: titles.what,
      cell: (hit) => (
        <Link href={placeOf(hit, projectId)} className="order-link">
          {SEARCH.kinds[hit.kind]}
        </Link>
      ),
    },
    {
      title: titles.name,
      cell: ({ name, says }) => (
        <>
          <Groups text={name} name={titles.name} withoutCopy />
          {says !== undefined && <p className="dim">{says}</p>}
        </>
      ),
    },
    { title: titles.by, cell: ({ by }) => SEARCH.by[by] },
    ...(projectId === undefined
      ? [{ title: titles.project, cell: ({ project }: SearchHit) => project?.name ?? '–' }]
      : []),
    { title: titles.at, cell: ({ at }) => (at === undefined ? '–' : <Moment at={at} />) },
  ];
}
