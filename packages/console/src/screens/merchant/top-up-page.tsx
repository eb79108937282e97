/** The project's deposit address, and deposits that arrive while the page is open. */
import { useEffect, useRef } from 'react';
import type {
  BalanceShape,
  DepositAddressShape,
  DepositShape,
  Page as PageOf,
} from '../../../../../src/modules/console/data-shapes.js';
import { useArrivals } from '../../api/arrivals.js';
import { Refusal } from '../../api/failure.js';
import { useProjectData } from '../../api/project-data.js';
import { assetText } from '../../format/money.js';
import { CopyButton } from '../../parts/copy.js';
import { Amount, Groups, Moment } from '../../parts/figures.js';
import { Icon } from '../../parts/icons.js';
import { Facts, Lines } from '../../parts/lines.js';
import { announce } from '../../parts/live.js';
import { Loaded } from '../../parts/loaded.js';
import { Notice } from '../../parts/notice.js';
import { Page, Section } from '../../parts/page.js';
import { QrCode } from '../../parts/qr-code.js';
import { useProject } from '../../shell/project.js';
import { NAV } from '../../text/nav.js';
import { TOP_UP } from '../../text/top-up.js';
import { DEPOSIT_COLUMNS } from './deposit-columns.js';
import { BillingNav } from '../../shell/subnav.js';

export function TopUpPage() {
  const { id, membership } = useProject();
  const { isLive } = useArrivals(id);
  const isMerchant = membership !== undefined;
  return (
    <Page
      title={isMerchant ? NAV.topUp : NAV.deposits}
      lead={isMerchant ? TOP_UP.lead : TOP_UP.leadOperator}
      above={<BillingNav />}
    >
      <Balance />
      <Address />
      <Arriving isLive={isLive} />
    </Page>
  );
}

function Balance() {
  const balance = useProjectData<BalanceShape>('/balance');
  return (
    <Section title={TOP_UP.balance}>
      <Loaded query={balance} lines={1}>
        {(data) => (
          <>
            {data.frozen && <Notice tone="warn">{TOP_UP.frozen}</Notice>}
            <p className="big-figure">
              <Amount credits={data.balance.credits} isBalance />
            </p>
            <p className="dim">
              {data.is_postpaid
                ? TOP_UP.postpaid
                : data.days_left === undefined
                  ? TOP_UP.nothingSpent
                  : TOP_UP.left(data.days_left)}
            </p>
          </>
        )}
      </Loaded>
    </Section>
  );
}

function Address() {
  const { membership, id } = useProject();
  const text = TOP_UP.address;
  const address = useProjectData<DepositAddressShape>('/deposit-address');
  const isNone = address.error instanceof Refusal && address.error.status === 404;
  return (
    <Section title={text.title} note={text.note}>
      {isNone ? (
        <Notice tone="info" title={text.none}>
          <p>{membership?.test === true ? text.test : text.noneBody}</p>
          <Groups text={id} name="Merchant ID" />
        </Notice>
      ) : (
        <Loaded query={address} lines={5}>
          {(data) => (
            <div className="deposit-address">
              <QrCode text={`tron:${data.address}`} label={text.qr} />
              <div className="stack">
                <p className="boxed deposit-address-text">
                  <Groups text={data.address} name={text.name} withoutCopy />
                </p>
                <CopyButton text={data.address} name={text.name} label={text.copy} />
                <Facts of={[[text.network, data.network], ...data.accepts.map((asset) => accepted(asset))]} />
                <p className="dim">
                  <Icon name="good" /> {text.checked} <Moment at={data.checked_at} />
                </p>
                <Notice tone="warn">{text.only}</Notice>
              </div>
            </div>
          )}
        </Loaded>
      )}
    </Section>
  );
}

type Accepted = DepositAddressShape['accepts'][number];

function accepted({ asset, contract, minimum, from_contracts: fromContracts }: Accepted) {
  const text = TOP_UP.address;
  return [
    `${text.accepts} ${asset}`,
    <div key={asset}>
      <p>{text.minimum(assetText(minimum, asset))}</p>
      {contract !== undefined && (
        <p className="dim">
          {text.contract} <Groups text={contract} name={`${text.contract} ${asset}`} />
        </p>
      )}
      {fromContracts === false && <p className="dim">{text.withoutContracts}</p>}
    </div>,
  ] as const;
}

function Arriving({ isLive }: { readonly isLive: boolean }) {
  const text = TOP_UP.arriving;
  const deposits = useProjectData<PageOf<DepositShape>>('/deposits');
  useAnnounced(deposits.data?.items);
  return (
    <Section
      title={text.title}
      note={
        <>
          <Icon name={isLive ? 'good' : 'warn'} /> {isLive ? text.live : text.away}
        </>
      }
    >
      <Loaded query={deposits} isEmpty={({ items }) => items.length === 0} empty={<p>{text.empty}</p>}>
        {({ items }) => (
          <Lines caption={text.caption} columns={DEPOSIT_COLUMNS} items={items} keyOf={(deposit) => deposit.id} />
        )}
      </Loaded>
    </Section>
  );
}

/** Announces new and credited deposits as they occur; those already listed are skipped. */
function useAnnounced(items: readonly DepositShape[] | undefined) {
  const known = useRef<Map<string, string>>(undefined);
  useEffect(() => {
    if (items === undefined) return;
    for (const { id, status, amount, asset } of known.current === undefined ? [] : items) {
      if (known.current?.get(id) === status) continue;
      const words = TOP_UP.arriving.announce;
      if (status === 'pending' || status === 'credited') announce(words[status](assetText(amount, asset)));
    }
    known.current = new Map(items.map(({ id, status }) => [id, status]));
  }, [items]);
}
