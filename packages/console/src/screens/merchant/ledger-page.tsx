import { Link } from 'wouter';
import type { LedgerLine } from '../../../../../src/modules/console/data-shapes.js';
import { withQuery } from '../../api/client.js';
import { usePages } from '../../api/project-data.js';
import { assetText, rateText } from '../../format/money.js';
import { sentenceText } from '../../format/sentence.js';
import { dayAfter } from '../../format/time.js';
import { Amount, Groups, Moment } from '../../parts/figures.js';
import { Filter, isFilteredBy, useFiltered, type FilterField } from '../../parts/filter.js';
import { Lines, type Column } from '../../parts/lines.js';
import { LoadedPages } from '../../parts/loaded-pages.js';
import { Page } from '../../parts/page.js';
import { orderPath, useProject } from '../../shell/project.js';
import { LEDGER } from '../../text/billing.js';
import { COMMON } from '../../text/common.js';
import { NAV } from '../../text/nav.js';
import { ORDER } from '../../text/orders.js';
import { BillingNav } from '../../shell/subnav.js';

const titles = LEDGER.columns;
const NAMES = ['from', 'to'] as const;
const FIELDS: readonly FilterField<(typeof NAMES)[number]>[] = NAMES.map((name) => ({
  name,
  label: COMMON.filter[name],
  isDay: true,
}));

export function LedgerPage() {
  const { id, api } = useProject();
  const given = useFiltered(NAMES);
  const isFiltered = isFilteredBy(given);
  // `to` is exclusive in the API; the user means the whole last day.
  const filter = { ...given, to: given.to === '' ? '' : dayAfter(given.to) };
  const ledger = usePages<LedgerLine>(['project', id], `${api}/ledger`, filter);
  return (
    <Page
      title={NAV.ledger}
      lead={LEDGER.lead}
      above={<BillingNav />}
      actions={
        <a className="crumb" href={withQuery(`${api}/ledger.csv`, filter)} download>
          {isFiltered ? LEDGER.csvFiltered : LEDGER.csv}
        </a>
      }
    >
      <Filter legend={LEDGER.filter} fields={FIELDS} />
      <LoadedPages query={ledger} empty={<p>{isFiltered ? LEDGER.emptyFiltered : LEDGER.empty}</p>}>
        {(items) => <Lines caption={LEDGER.caption} columns={columnsOf(id)} items={items} keyOf={(line) => line.id} />}
      </LoadedPages>
    </Page>
  );
}

function columnsOf(projectId: string): Column<LedgerLine>[] {
  return [
    { title: titles.when, cell: ({ created_at: at }) => <Moment at={at} /> },
    {
      title: titles.what,
      cell: (line) => (
        <>
          <strong>{LEDGER.kinds[line.kind]}</strong>
          {line.description !== LEDGER.kinds[line.kind] && <p className="dim">{sentenceText(line.description)}</p>}
          {line.asset_amount !== undefined && line.asset !== undefined && (
            <p className="dim">
              {LEDGER.atRate(assetText(line.asset_amount, line.asset), rateText(line.usd_rate ?? '1'))}
            </p>
          )}
        </>
      ),
    },
    { title: titles.amount, cell: ({ amount }) => <Amount credits={amount.credits} isSigned />, isFigure: true },
    {
      title: titles.proof,
      cell: ({ order_key: key, txids, reference }) => (
        <>
          {key !== undefined && (
            <Link href={orderPath(projectId, key)} className="mono order-link">
              {`${LEDGER.order} ${key}`}
            </Link>
          )}
          {txids?.map((txid) => (
            <details key={txid} className="help-inline">
              <summary>{ORDER.proof.txid}</summary>
              <Groups text={txid} name={ORDER.proof.txid} size={8} />
            </details>
          ))}
          {key === undefined && txids === undefined && (reference ?? '–')}
        </>
      ),
    },
  ];
}
