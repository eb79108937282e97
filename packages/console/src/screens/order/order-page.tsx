/** One order: summary, timeline, money, proof, request and raw data. */
import { Link } from 'wouter';
import type { OrderHistory } from '../../api/order-history.js';
import { useArrivals } from '../../api/arrivals.js';
import { useProjectData } from '../../api/project-data.js';
import { grouped } from '../../format/money.js';
import { span } from '../../format/time.js';
import { Groups, Moment } from '../../parts/figures.js';
import { Loaded } from '../../parts/loaded.js';
import { Page } from '../../parts/page.js';
import { OrderStatus } from '../../parts/status.js';
import { pathOf, useProject } from '../../shell/project.js';
import { ORDER, ORDERS } from '../../text/orders.js';
import { ExtendRental } from '../purchase/extend-rental.js';
import { ExtendSection } from './extend-section.js';
import { MoneySection } from './money-section.js';
import { OperatorSection } from './operator-section.js';
import { ProofSection } from './proof-section.js';
import { ReceiptSection } from './receipt-section.js';
import { DeliveriesSection, EventsSection, RawSection, RequestSection } from './request-sections.js';
import { TimelineSection } from './timeline-section.js';
import { WhyRefunded } from './why-refunded.js';

/** Polling interval while the chain may still change the order. */
const OPEN_EVERY_MS = 3000;
/** Polling interval once only the rental's end is pending. */
const CALM_EVERY_MS = 30_000;

const everyMs = (data: OrderHistory | undefined): number =>
  data === undefined || data.order.settled || data.order.status === 'refunded' ? CALM_EVERY_MS : OPEN_EVERY_MS;

export function OrderPage({ orderKey }: { readonly orderKey: string }) {
  const { id } = useProject();
  useArrivals(id);
  const path = `/orders/${encodeURIComponent(orderKey)}`;
  const order = useProjectData<OrderHistory>(path, { everyMs });
  return (
    <Page
      title={ORDER.title(orderKey)}
      above={
        <p>
          <Link href={pathOf(id, '/orders')} className="crumb">
            ← {ORDER.back}
          </Link>
        </p>
      }
    >
      <Loaded query={order} lines={8}>
        {(data) => <Whole history={data} />}
      </Loaded>
    </Page>
  );
}

function Whole({ history }: { readonly history: OrderHistory }) {
  const { isOwner } = useProject();
  return (
    <>
      <Summary history={history} />
      {isOwner && history.actions.includes('extend') && (
        <div className="acts">
          <ExtendRental orderKey={history.order.key} />
        </div>
      )}
      {history.why_refunded !== undefined && <WhyRefunded reason={history.why_refunded} />}
      {history.actions.includes('extend') && <ExtendSection orderKey={history.order.key} />}
      <TimelineSection moments={history.timeline} />
      <MoneySection money={history.money} />
      <ProofSection
        proof={history.proof}
        energy={history.receiver_energy}
        isRefunded={history.order.status === 'refunded'}
      />
      {history.actions.includes('receipt') && <ReceiptSection history={history} />}
      <RequestSection request={history.request} />
      <EventsSection events={history.events} />
      <DeliveriesSection deliveries={history.deliveries} />
      <RawSection raw={history.raw} curl={history.curl} />
      {history.operator !== undefined && <OperatorSection operator={history.operator} />}
    </>
  );
}

function Summary({ history: { sentence, order, read_at: readAt } }: { readonly history: OrderHistory }) {
  return (
    <div className="order-summary">
      <p className="order-sentence">{sentence}</p>
      <p className="order-line">
        <OrderStatus order={order} />
        <span>{ORDER.kind[order.kind]}</span>
        {order.energy !== undefined && (
          <span>
            {grouped(order.energy)} energy
            {order.bandwidth !== undefined && `, ${ORDERS.bandwidth(grouped(order.bandwidth))}`}
            {order.activates === true && `, ${ORDERS.activation}`}
            {order.duration_sec !== undefined && ` ${ORDERS.forTime(span(order.duration_sec))}`}
          </span>
        )}
      </p>
      <p>
        <Groups text={order.receive_address} name={ORDER.proof.receiver} />
      </p>
      <p className="dim">
        {ORDER.readAt} <Moment at={readAt} />
      </p>
    </div>
  );
}
