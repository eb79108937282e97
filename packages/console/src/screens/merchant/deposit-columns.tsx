/** Columns shared by every list of deposits. */
import type { DepositShape } from '../../../../../src/modules/console/data-shapes.js';
import { assetText, grouped, rateText } from '../../format/money.js';
import { Amount, Groups, Moment } from '../../parts/figures.js';
import type { Column } from '../../parts/lines.js';
import { DepositStatus } from '../../parts/status.js';
import { TOP_UP } from '../../text/top-up.js';

const titles = TOP_UP.arriving.columns;
export const DEPOSIT_COLUMNS: readonly Column<DepositShape>[] = [
  {
    title: titles.amount,
    cell: (deposit) => (
      <>
        <strong>{assetText(deposit.amount, deposit.asset)}</strong>
        <p className="dim">
          {TOP_UP.arriving.from} <Groups text={deposit.from_address} name={TOP_UP.arriving.from} withoutCopy />
        </p>
      </>
    ),
  },
  {
    title: titles.status,
    cell: (deposit) => (
      <>
        <DepositStatus status={deposit.status} />
        <p className="dim">{deposit.says}</p>
      </>
    ),
  },
  {
    title: titles.credited,
    cell: ({ credited, usd_rate: usdRate, asset }) =>
      credited === undefined ? (
        '–'
      ) : (
        <>
          <Amount credits={credited.credits} isSigned />
          {usdRate !== undefined && <p className="dim">{TOP_UP.arriving.atRate(rateText(usdRate), asset)}</p>}
        </>
      ),
  },
  {
    title: titles.block,
    cell: (deposit) => (
      <>
        {grouped(deposit.block_number)}
        <details className="help-inline">
          <summary>{TOP_UP.arriving.transaction}</summary>
          <Groups text={deposit.txid} name={TOP_UP.arriving.transaction} size={8} />
        </details>
      </>
    ),
  },
  { title: titles.when, cell: (deposit) => <Moment at={deposit.block_timestamp} clock="chain" /> },
];
