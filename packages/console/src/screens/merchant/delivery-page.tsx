/** One delivery to a webhook: its order, the body sent, the answer received, and the next attempt. */
import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Link, useLocation } from 'wouter';
import type { DeliveryShape, OneDelivery } from '../../../../../src/modules/console/integration-shapes.js';
import { useAct } from '../../api/act.js';
import { post } from '../../api/client.js';
import { useProjectData } from '../../api/project-data.js';
import { grouped } from '../../format/money.js';
import { seconds } from '../../format/time.js';
import { CopyButton } from '../../parts/copy.js';
import { Moment } from '../../parts/figures.js';
import { Facts } from '../../parts/lines.js';
import { Loaded } from '../../parts/loaded.js';
import { announce } from '../../parts/live.js';
import { ActFailure } from '../../parts/notice.js';
import { Page, Section } from '../../parts/page.js';
import { orderPath, pathOf, useProject } from '../../shell/project.js';
import { DELIVERY } from '../../text/integration.js';
import { DeliveryStatus } from '../order/request-sections.js';

const text = DELIVERY;
/** Polling interval while an attempt is pending. */
const PENDING_EVERY_MS = 3000;

interface DeliveryProps {
  readonly webhookId: string;
  readonly deliveryId: string;
}

export function DeliveryPage({ webhookId, deliveryId }: DeliveryProps) {
  const { id, api, isOwner } = useProject();
  const [, go] = useLocation();
  const cache = useQueryClient();
  const webhook = `/webhooks/${encodeURIComponent(webhookId)}`;
  const path = `${webhook}/deliveries/${encodeURIComponent(deliveryId)}`;
  const delivery = useProjectData<OneDelivery>(path, {
    everyMs: (data) => (data?.status === 'pending' ? PENDING_EVERY_MS : false),
  });
  const page = pathOf(id, `/integration${webhook}`);
  const send = useAct(async () => {
    const sent = await post<DeliveryShape>(`${api}${path}/resend`);
    announce(text.tried);
    await cache.invalidateQueries({ queryKey: ['project', id] });
    // An ended delivery is sent as a new one.
    if (sent.id.toString() !== deliveryId) go(`${page}/deliveries/${sent.id.toString()}`);
  });
  const isPending = delivery.data?.status === 'pending';
  return (
    <Page
      title={text.title}
      above={
        <p>
          <Link href={page} className="crumb">
            ← {text.back}
          </Link>
        </p>
      }
      actions={
        isOwner &&
        delivery.data?.body !== undefined && (
          <Button loading={send.isUnderWay} onClick={() => send.run()}>
            {isPending ? text.tryNow : text.again}
          </Button>
        )
      }
    >
      <ActFailure failure={send.failure} />
      <Loaded query={delivery} lines={6}>
        {(data) => (
          <>
            <Summary delivery={data} />
            <Answer delivery={data} />
            <Body delivery={data} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Summary({ delivery }: { readonly delivery: OneDelivery }) {
  const { id } = useProject();
  const { type, status, order_key: key, event_id: eventId, cause, attempts } = delivery;
  const { created_at: created, next_attempt_at: next, ended_at: ended } = delivery;
  return (
    <Section title={text.status}>
      <Facts
        of={[
          [text.status, <DeliveryStatus key="status" status={status} />],
          [text.event, <code key="event">{type}</code>],
          [
            text.order,
            key && (
              <Link href={orderPath(id, key)} className="mono order-link">
                {key}
              </Link>
            ),
          ],
          [text.eventId, <code key="id">{eventId}</code>],
          [text.cause, text.causes[cause]],
          [text.tries, grouped(attempts)],
          [text.created, <Moment key="created" at={created} />],
          [text.next, next && <Moment at={next} />],
          [text.ended, ended && <Moment at={ended} />],
        ]}
      />
    </Section>
  );
}

function Answer({ delivery }: { readonly delivery: OneDelivery }) {
  const { last_status: status, last_error: error, last_answer: answer } = delivery;
  const { last_attempt_at: at, last_duration_ms: took } = delivery;
  return (
    <Section title={text.answer}>
      {at === undefined ? (
        <p>{text.answerNone}</p>
      ) : (
        <Facts
          of={[
            [text.answerStatus, status?.toString()],
            [text.answerError, error && <code>{error}</code>],
            [text.answerTook, took === undefined ? undefined : seconds(took)],
            [text.answerAt, <Moment key="at" at={at} />],
            [
              text.answerBody,
              answer !== undefined && answer !== '' ? (
                <pre className="code-block" tabIndex={0}>
                  {answer}
                </pre>
              ) : undefined,
            ],
          ]}
        />
      )}
    </Section>
  );
}

function Body({ delivery: { body } }: { readonly delivery: OneDelivery }) {
  return (
    <Section title={text.body} note={text.bodyNote}>
      {body === undefined ? (
        <p>{text.bodyGone}</p>
      ) : (
        <>
          <pre className="code-block" tabIndex={0}>
            {body}
          </pre>
          <CopyButton text={body} name={text.body} label={text.bodyCopy} />
        </>
      )}
    </Section>
  );
}
