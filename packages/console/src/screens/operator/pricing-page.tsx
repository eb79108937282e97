/** The price table, with a dialog to change a row. */
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { PriceLine, PriceTable } from '../../../../../src/modules/console/operator-shapes.js';
import { get } from '../../api/client.js';
import { useSignedIn } from '../../api/session.js';
import { grouped, percent, rateText, trx } from '../../format/money.js';
import { span } from '../../format/time.js';
import { Facts, Lines, type Column } from '../../parts/lines.js';
import { Loaded } from '../../parts/loaded.js';
import { Notice } from '../../parts/notice.js';
import { Page, Section } from '../../parts/page.js';
import { Status } from '../../parts/status.js';
import { NAV } from '../../text/nav.js';
import { PRICING } from '../../text/pricing.js';
import { PriceDialog } from './price-change.js';

export function PricingPage() {
  const isAdmin = useSignedIn().operator_role === 'admin';
  const prices = useQuery({ queryKey: ['prices'], queryFn: () => get<PriceTable>('/api/operator/prices') });
  const [changed, setChanged] = useState<PriceLine | 'new'>();
  const [isSaved, setSaved] = useState(false);
  const begin = (row: PriceLine | 'new') => {
    setSaved(false);
    setChanged(row);
  };
  return (
    <Page
      title={NAV.pricing}
      lead={PRICING.lead}
      actions={isAdmin && <Button onClick={() => begin('new')}>{PRICING.add}</Button>}
    >
      {!isAdmin && <Notice tone="info">{PRICING.readOnly}</Notice>}
      <div role="status">{isSaved && <Notice tone="good">{PRICING.save.done}</Notice>}</div>
      <Loaded query={prices} lines={6}>
        {(table) => (
          <>
            <Section title={PRICING.table}>
              <Facts
                of={[
                  [
                    PRICING.fee,
                    table.energy_fee_sun === undefined
                      ? PRICING.feeUnknown
                      : PRICING.feeText(grouped(table.energy_fee_sun)),
                  ],
                  [
                    PRICING.bandwidthFee,
                    table.bandwidth_fee_sun === undefined
                      ? undefined
                      : PRICING.bandwidthFeeText(grouped(table.bandwidth_fee_sun)),
                  ],
                  [PRICING.floor, table.floor_sun === undefined ? undefined : trx(table.floor_sun)],
                  [PRICING.rate, table.trx_usd === undefined ? undefined : PRICING.rateText(rateText(table.trx_usd))],
                ]}
              />
              <Lines
                caption={PRICING.caption}
                columns={priceColumns(table.energy_fee_sun, isAdmin ? begin : undefined)}
                items={table.rows}
                keyOf={(row) => row.duration_max_sec.toString()}
              />
            </Section>
            {changed !== undefined && (
              <PriceDialog
                row={changed === 'new' ? undefined : changed}
                onClose={() => setChanged(undefined)}
                onSaved={() => {
                  setChanged(undefined);
                  setSaved(true);
                }}
              />
            )}
          </>
        )}
      </Loaded>
    </Page>
  );
}

const titles = PRICING.columns;

function priceColumns(fee: number | undefined, change: ((row: PriceLine) => void) | undefined): Column<PriceLine>[] {
  return [
    { title: titles.upTo, cell: (row) => <strong>{span(row.duration_max_sec)}</strong> },
    { title: titles.price, cell: (row) => grouped(row.sun_per_energy), isFigure: true },
    {
      title: titles.of,
      cell: (row) => (fee === undefined ? '–' : percent(BigInt(row.sun_per_energy), BigInt(fee))),
      isFigure: true,
    },
    {
      title: titles.least,
      cell: (row) =>
        row.warning === undefined ? (
          row.least_energy === undefined ? (
            '–'
          ) : (
            grouped(row.least_energy)
          )
        ) : (
          <>
            <Status tone="warn" icon="warn" word={PRICING.unsold} />
            <p className="dim">{row.warning}</p>
          </>
        ),
      isFigure: true,
    },
    {
      title: titles.bandwidth,
      cell: ({ sun_per_bandwidth: price, bandwidth_warning: warning }) => (
        <>
          {price === undefined ? '–' : grouped(price)}
          {warning !== undefined && <p className="dim">{warning}</p>}
        </>
      ),
      isFigure: true,
    },
    ...(change === undefined
      ? []
      : [
          {
            title: titles.act,
            cell: (row: PriceLine) => (
              <button type="button" className="link-button" onClick={() => change(row)}>
                {PRICING.change}
                <span className="only-read"> {span(row.duration_max_sec)}</span>
              </button>
            ),
          },
        ]),
  ];
}
