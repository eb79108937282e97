/** Deposits of all projects. */
import { useState } from 'react';
import { Link } from 'wouter';
import type { OperatorDeposit } from '../../../../../src/modules/console/operator-shapes.js';
import { usePages } from '../../api/project-data.js';
import { useSignedIn } from '../../api/session.js';
import { Filter, isFilteredBy, useFiltered, type FilterField } from '../../parts/filter.js';
import { Lines, type Column } from '../../parts/lines.js';
import { LoadedPages } from '../../parts/loaded-pages.js';
import { Page } from '../../parts/page.js';
import { pathOf } from '../../shell/project.js';
import { DECIDE_DEPOSIT } from '../../text/decide-deposit.js';
import { NAV } from '../../text/nav.js';
import { DEPOSITS } from '../../text/operating.js';
import { STATUS } from '../../text/status.js';
import { DEPOSIT_COLUMNS } from '../merchant/deposit-columns.js';
import { DecideDeposit } from './decide-deposit.js';

const NAMES = ['status'] as const;
const FIELDS: readonly FilterField<(typeof NAMES)[number]>[] = [
  { name: 'status', label: DEPOSITS.status, choices: Object.entries(STATUS.deposit) },
];

const PROJECT: Column<OperatorDeposit> = {
  title: DEPOSITS.project,
  cell: ({ project }) => (
    <Link href={pathOf(project.id, '/orders')} className="order-link">
      {project.name}
    </Link>
  ),
};
const READ: readonly Column<OperatorDeposit>[] = [PROJECT, ...DEPOSIT_COLUMNS];

function columnsOf(decide: (deposit: OperatorDeposit) => void): readonly Column<OperatorDeposit>[] {
  const act: Column<OperatorDeposit> = {
    title: DEPOSITS.act,
    cell: (deposit) =>
      deposit.status === 'held' ? (
        <button type="button" className="link-button" onClick={() => decide(deposit)}>
          {DECIDE_DEPOSIT.act}
          <span className="only-read"> {deposit.id}</span>
        </button>
      ) : (
        '–'
      ),
  };
  return [...READ, act];
}

export function OperatorDepositsPage() {
  const isAdmin = useSignedIn().operator_role === 'admin';
  const [deciding, setDeciding] = useState<OperatorDeposit>();
  const columns = isAdmin ? columnsOf(setDeciding) : READ;
  const filter = useFiltered(NAMES);
  const deposits = usePages<OperatorDeposit>(['deposits'], '/api/operator/deposits', filter);
  return (
    <Page title={NAV.deposits} lead={DEPOSITS.lead}>
      <Filter legend={DEPOSITS.filter} fields={FIELDS} />
      <LoadedPages query={deposits} empty={<p>{isFilteredBy(filter) ? DEPOSITS.emptyFiltered : DEPOSITS.empty}</p>}>
        {(items) => <Lines caption={DEPOSITS.caption} columns={columns} items={items} keyOf={({ id }) => id} />}
      </LoadedPages>
      {deciding !== undefined && <DecideDeposit deposit={deciding} onClose={() => setDeciding(undefined)} />}
    </Page>
  );
}
