/** One webhook: its state, a test, and its deliveries. */
import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import type {
  ChangeWebhook,
  DeliveryShape,
  WebhookShape,
} from '../../../../../src/modules/console/integration-shapes.js';
import { useAct } from '../../api/act.js';
import { post } from '../../api/client.js';
import { usePages, useProjectData } from '../../api/project-data.js';
import { grouped } from '../../format/money.js';
import { Moment } from '../../parts/figures.js';
import { Facts, Lines, type Column } from '../../parts/lines.js';
import { Loaded } from '../../parts/loaded.js';
import { LoadedPages } from '../../parts/loaded-pages.js';
import { announce } from '../../parts/live.js';
import { ActFailure, Notice } from '../../parts/notice.js';
import { Page, Section } from '../../parts/page.js';
import { pathOf, useProject } from '../../shell/project.js';
import { WEBHOOKS } from '../../text/integration.js';
import { NAV } from '../../text/nav.js';
import { ORDER } from '../../text/orders.js';
import { DeliveryStatus } from '../order/request-sections.js';
import { WebhookForm, type WebhookTerms } from './webhook-form.js';
import { WebhookStatus } from './webhooks-page.js';

const titles = WEBHOOKS.deliveryColumns;

export function WebhookPage({ webhookId }: { readonly webhookId: string }) {
  const { id, api, isOwner } = useProject();
  const path = `/webhooks/${encodeURIComponent(webhookId)}`;
  const webhook = useProjectData<WebhookShape>(path);
  const deliveries = usePages<DeliveryShape>(['project', id], `${api}${path}/deliveries`);
  const cache = useQueryClient();
  const [isTested, setTested] = useState(false);
  const [isChanging, setChanging] = useState(false);
  const test = useAct(async () => {
    await post(`${api}${path}/test`);
    setTested(true);
    await deliveries.refetch();
  });
  const resend = useAct(async (delivery: DeliveryShape) => {
    await post(`${api}${path}/deliveries/${delivery.id.toString()}/resend`);
    await deliveries.refetch();
  });
  return (
    <Page
      title={webhook.data?.url ?? NAV.webhooks}
      above={
        <p>
          <Link href={pathOf(id, '/integration/webhooks')} className="crumb">
            ← {NAV.webhooks}
          </Link>
        </p>
      }
      actions={
        isOwner && (
          <>
            <Button variant="default" disabled={webhook.data === undefined} onClick={() => setChanging(true)}>
              {WEBHOOKS.changeShort}
            </Button>
            <Button variant="default" loading={test.isUnderWay} onClick={() => test.run()}>
              {WEBHOOKS.test}
            </Button>
          </>
        )
      }
    >
      <div role="status">{isTested && <Notice tone="good">{WEBHOOKS.tested}</Notice>}</div>
      <ActFailure failure={test.failure ?? resend.failure} />
      <Section title={WEBHOOKS.columns.status}>
        <Loaded query={webhook} lines={1}>
          {(data) => (
            <>
              <WebhookStatus webhook={data} />
              {isChanging && (
                <WebhookForm
                  webhook={data}
                  onClose={() => setChanging(false)}
                  save={async (terms) => {
                    await post(`${api}${path}`, changesOf(data, terms));
                    announce(WEBHOOKS.changed);
                    setChanging(false);
                    await cache.invalidateQueries({ queryKey: ['project', id] });
                  }}
                />
              )}
            </>
          )}
        </Loaded>
      </Section>
      <Section title={WEBHOOKS.about}>
        <Loaded query={webhook} lines={2}>
          {({ types, description }) => (
            <Facts
              of={[
                [WEBHOOKS.description, description === '' ? '–' : description],
                [WEBHOOKS.columns.types, types?.join(', ') ?? WEBHOOKS.allTypes],
              ]}
            />
          )}
        </Loaded>
      </Section>
      <Section title={WEBHOOKS.deliveries}>
        <LoadedPages query={deliveries} empty={<p>{WEBHOOKS.deliveriesEmpty}</p>}>
          {(items) => (
            <Lines
              caption={WEBHOOKS.deliveries}
              columns={columnsOf(pathOf(id, `/integration${path}`), isOwner ? resend.run : undefined)}
              items={items}
              keyOf={(delivery) => delivery.id.toString()}
            />
          )}
        </LoadedPages>
      </Section>
    </Page>
  );
}

/** Returns changed fields only: another person may have changed the others meanwhile. */
function changesOf(webhook: WebhookShape, wanted: WebhookTerms): ChangeWebhook {
  const { url, types, description, enabled } = wanted;
  return {
    ...(url !== webhook.url && { url }),
    ...(types.join() !== (webhook.types ?? []).join() && { types }),
    ...(description !== webhook.description && { description }),
    ...(enabled !== undefined && { enabled }),
  };
}

function columnsOf(pagePath: string, resend: ((delivery: DeliveryShape) => void) | undefined): Column<DeliveryShape>[] {
  return [
    {
      title: titles.type,
      cell: ({ id, type }) => (
        <Link href={`${pagePath}/deliveries/${id.toString()}`} className="mono order-link">
          {type}
        </Link>
      ),
    },
    { title: titles.status, cell: ({ status }) => <DeliveryStatus status={status} /> },
    { title: titles.tries, cell: ({ attempts }) => grouped(attempts), isFigure: true },
    {
      title: titles.answer,
      cell: ({ last_status: status, last_error: error, last_answer: answer }) => (
        <>
          {status?.toString() ?? error ?? '–'}
          {answer !== undefined && answer !== '' && <code className="answer">{answer}</code>}
        </>
      ),
    },
    { title: titles.when, cell: ({ last_attempt_at: at }) => (at === undefined ? '–' : <Moment at={at} />) },
    ...(resend === undefined
      ? []
      : [
          {
            title: titles.act,
            cell: (delivery: DeliveryShape) => (
              <button type="button" className="link-button" onClick={() => resend(delivery)}>
                {ORDER.deliveries.resend}
                <span className="only-read"> {delivery.type}</span>
              </button>
            ),
          },
        ]),
  ];
}
