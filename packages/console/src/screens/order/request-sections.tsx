/** The original request, the deliveries to the project's webhooks, and the raw data. */
import { useQueryClient } from '@tanstack/react-query';
import { Link } from 'wouter';
import type { OrderDelivery } from '../../../../../src/modules/console/data-shapes.js';
import type { OrderHistory } from '../../api/order-history.js';
import { useAct } from '../../api/act.js';
import { post } from '../../api/client.js';
import { grouped } from '../../format/money.js';
import { CopyButton } from '../../parts/copy.js';
import { Groups, Moment } from '../../parts/figures.js';
import { Facts, Lines, type Column } from '../../parts/lines.js';
import { announce } from '../../parts/live.js';
import { ActFailure } from '../../parts/notice.js';
import { Section } from '../../parts/page.js';
import { Status } from '../../parts/status.js';
import { pathOf, useProject } from '../../shell/project.js';
import { COMMON } from '../../text/common.js';
import { ORDER } from '../../text/orders.js';

const json = (value: unknown) => JSON.stringify(value, null, 2);

export function RequestSection({ request }: { readonly request: OrderHistory['request'] }) {
  const text = ORDER.request;
  const { request_id: requestId, replays, last_replayed_at: lastAt } = request;
  return (
    <Section isSecondary title={ORDER.sections.request}>
      <Facts
        of={[
          [text.key, request.key_name ?? text.keyUnknown],
          [
            text.idempotency,
            <span key="key">
              <code>{request.idempotency_key}</code>{' '}
              <CopyButton text={request.idempotency_key} name={text.idempotency} />
              {request.is_own_key && <span className="dim"> {text.ofService}</span>}
            </span>,
          ],
          [
            text.replays,
            <div key="replays">
              {text.replaysText(replays)}{' '}
              {lastAt !== undefined && (
                <span className="dim">
                  {text.replayedLast} <Moment at={lastAt} clock="ours" />
                </span>
              )}
              <p className="dim">{replays === 0 ? text.replaysNoneMeans : text.replaysMean}</p>
            </div>,
          ],
          [COMMON.requestId, requestId && <Groups text={requestId} name={COMMON.requestId} size={8} />],
          [text.body, <code key="body">{JSON.stringify(request.body)}</code>],
        ]}
      />
    </Section>
  );
}

type EventLine = OrderHistory['events'][number];
const eventText = ORDER.events;
const EVENT_COLUMNS: readonly Column<EventLine>[] = [
  { title: eventText.columns.type, cell: ({ type }) => <code>{type}</code> },
  { title: eventText.columns.position, cell: ({ position }) => grouped(position) },
  { title: eventText.columns.when, cell: ({ timestamp }) => <Moment at={timestamp} /> },
];

export function EventsSection({ events }: { readonly events: readonly EventLine[] }) {
  return (
    <Section isSecondary title={ORDER.sections.events}>
      {events.length === 0 ? (
        <p className="dim">{eventText.none}</p>
      ) : (
        <Lines caption={eventText.caption} columns={EVENT_COLUMNS} items={events} keyOf={({ id }) => id} />
      )}
    </Section>
  );
}

const DELIVERY = {
  pending: ['wait', 'wait'],
  delivered: ['good', 'good'],
  failed: ['bad', 'bad'],
  dropped: ['calm', 'info'],
} as const;

export function DeliveryStatus({ status }: { readonly status: OrderDelivery['status'] }) {
  const [tone, icon] = DELIVERY[status];
  return <Status tone={tone} icon={icon} word={ORDER.deliveries.status[status]} />;
}

export function DeliveriesSection({ deliveries }: { readonly deliveries: readonly OrderDelivery[] }) {
  const text = ORDER.deliveries;
  const { id, api, isOwner } = useProject();
  const cache = useQueryClient();
  const resend = useAct(async ({ webhook_id: webhook, id: delivery }: OrderDelivery) => {
    await post(`${api}/webhooks/${webhook}/deliveries/${delivery.toString()}/resend`);
    announce(text.resent);
    await cache.invalidateQueries({ queryKey: ['project', id] });
  });
  const columns: Column<OrderDelivery>[] = [
    { title: text.columns.to, cell: ({ url }) => <span className="mono">{url}</span> },
    {
      title: text.columns.type,
      cell: ({ webhook_id: webhook, id: delivery, type }) => (
        <Link
          href={pathOf(id, `/integration/webhooks/${webhook}/deliveries/${delivery.toString()}`)}
          className="mono order-link"
        >
          {type}
        </Link>
      ),
    },
    { title: text.columns.status, cell: ({ status }) => <DeliveryStatus status={status} /> },
    { title: text.columns.tries, cell: ({ attempts }) => grouped(attempts) },
    {
      title: text.columns.last,
      cell: (delivery) => (
        <>
          {delivery.last_status?.toString() ?? delivery.last_error ?? '–'}{' '}
          {delivery.last_attempt_at !== undefined && <Moment at={delivery.last_attempt_at} />}
          {isOwner && (
            <p>
              <button type="button" className="link-button" onClick={() => resend.run(delivery)}>
                {text.resend}
                <span className="only-read"> {delivery.type}</span>
              </button>
            </p>
          )}
        </>
      ),
    },
  ];
  return (
    <Section isSecondary title={ORDER.sections.deliveries}>
      <ActFailure failure={resend.failure} />
      {deliveries.length === 0 ? (
        <p className="dim">{text.none}</p>
      ) : (
        <Lines caption={text.caption} columns={columns} items={deliveries} keyOf={(one) => one.id.toString()} />
      )}
    </Section>
  );
}

export function RawSection({ raw, curl }: Pick<OrderHistory, 'raw' | 'curl'>) {
  const text = ORDER.raw;
  return (
    <Section isSecondary title={ORDER.sections.raw}>
      <details className="help">
        <summary>{text.json}</summary>
        <pre className="code-block" tabIndex={0}>
          {json(raw)}
        </pre>
        <CopyButton text={json(raw)} name={text.json} label={text.copyJson} />
      </details>
      <details className="help">
        <summary>{text.curl}</summary>
        <pre className="code-block" tabIndex={0}>
          {curl}
        </pre>
        <CopyButton text={curl} name={text.curl} label={text.copyCurl} />
      </details>
    </Section>
  );
}
