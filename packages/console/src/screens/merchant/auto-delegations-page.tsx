import { Button } from '@mantine/core';
import { useState } from 'react';
import { Link, useLocation, useSearchParams } from 'wouter';
import type { AutoDelegationShape } from '../../../../../src/modules/console/integration-shapes.js';
import { useArrivals } from '../../api/arrivals.js';
import { usePages } from '../../api/project-data.js';
import { grouped, usdExact } from '../../format/money.js';
import { Amount, Groups } from '../../parts/figures.js';
import { Lines, type Column } from '../../parts/lines.js';
import { LoadedPages } from '../../parts/loaded-pages.js';
import { Notice } from '../../parts/notice.js';
import { Page } from '../../parts/page.js';
import { pathOf, useProject } from '../../shell/project.js';
import { AUTO } from '../../text/auto-delegation.js';
import { COMMON } from '../../text/common.js';
import { NAV } from '../../text/nav.js';
import { AutoNext, AutoStatus, reasonOf } from './auto-delegation-state.js';
import { SetDialog } from './set-auto-delegation.js';

const STATES = ['active', 'asleep', 'paused', 'ended'] as const;

const autoPath = (projectId: string, address: string): string => pathOf(projectId, `/auto-delegation/${address}`);

export function AutoDelegationsPage() {
  const { id, api, isOwner, membership } = useProject();
  useArrivals(id);
  const [, go] = useLocation();
  const [search, setSearch] = useSearchParams();
  const [isMaking, setMaking] = useState(false);
  const status = search.get('state') ?? '';
  const addresses = usePages<AutoDelegationShape>(['project', id], `${api}/auto-delegations`, { status });
  const isTest = membership?.test === true;
  const mayAdd = isOwner && !isTest;
  const empty = mayAdd ? AUTO.empty : AUTO.emptyForReader;
  return (
    <Page
      title={NAV.autoDelegation}
      lead={AUTO.lead}
      actions={mayAdd && <Button onClick={() => setMaking(true)}>{AUTO.add}</Button>}
    >
      {isTest && <Notice tone="info">{AUTO.ofTest}</Notice>}
      {membership === undefined && <Notice tone="info">{AUTO.ofOwners}</Notice>}
      <div className="filter">
        <label className="filter-field">
          <span>{AUTO.filter}</span>
          <select
            value={status}
            onChange={({ currentTarget: { value } }) => setSearch(value === '' ? {} : { state: value })}
          >
            <option value="">{COMMON.filter.any}</option>
            {STATES.map((state) => (
              <option key={state} value={state}>
                {AUTO.states[state]}
              </option>
            ))}
          </select>
        </label>
      </div>
      <LoadedPages query={addresses} empty={<p>{status === '' ? empty : AUTO.emptyFiltered}</p>}>
        {(items) => (
          <Lines caption={AUTO.caption} columns={columnsOf(id)} items={items} keyOf={({ address }) => address} />
        )}
      </LoadedPages>
      {isMaking && <SetDialog onClose={() => setMaking(false)} onSet={({ address }) => go(autoPath(id, address))} />}
    </Page>
  );
}

const titles = AUTO.columns;

function columnsOf(projectId: string): Column<AutoDelegationShape>[] {
  return [
    {
      title: titles.address,
      cell: ({ address }) => (
        <Link href={autoPath(projectId, address)} className="mono order-link">
          <Groups text={address} name={titles.address} withoutCopy />
        </Link>
      ),
    },
    {
      title: titles.state,
      cell: (auto) => (
        <>
          <AutoStatus of={auto} />
          <Reason of={auto} />
        </>
      ),
    },
    {
      title: titles.keeps,
      cell: ({ keep_energy: keep, refill_below: below }) => (
        <>
          <span className="one-line">{AUTO.energyOf(grouped(keep))}</span>
          <p className="dim one-line">{AUTO.below(grouped(below))}</p>
        </>
      ),
    },
    {
      title: titles.today,
      cell: ({ spent_today: spent, daily_cap: cap }) => (
        <>
          <Amount credits={spent.credits} withoutCredits />
          {cap.credits > 0 && <p className="dim one-line">{AUTO.capOf(usdExact(cap.credits))}</p>}
        </>
      ),
      isFigure: true,
    },
    { title: titles.next, cell: (auto) => <AutoNext of={auto} /> },
  ];
}

function Reason({ of }: { readonly of: AutoDelegationShape }) {
  const reason = reasonOf(of);
  return reason === undefined ? null : <p className="dim pause-reason">{reason}</p>;
}
