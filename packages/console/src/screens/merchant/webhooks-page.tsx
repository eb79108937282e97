/** The webhooks of a project, and the actions on them. */
import { Button } from '@mantine/core';
import { useState } from 'react';
import { Link } from 'wouter';
import type {
  MakeWebhook,
  WebhookSecret,
  WebhookShape,
} from '../../../../../src/modules/console/integration-shapes.js';
import { useAct } from '../../api/act.js';
import { post } from '../../api/client.js';
import { useProjectData } from '../../api/project-data.js';
import { grouped } from '../../format/money.js';
import { Lines, type Column } from '../../parts/lines.js';
import { Loaded } from '../../parts/loaded.js';
import { Page } from '../../parts/page.js';
import { SecretOnce } from '../../parts/secret-once.js';
import { Status } from '../../parts/status.js';
import { TypeToConfirm } from '../../parts/type-to-confirm.js';
import { pathOf, useProject } from '../../shell/project.js';
import { WEBHOOKS } from '../../text/integration.js';
import { NAV } from '../../text/nav.js';
import { IntegrationNav } from '../../shell/subnav.js';
import { WebhookForm } from './webhook-form.js';

const COUNTED_MAX = 10_000;
const titles = WEBHOOKS.columns;

export function WebhooksPage() {
  const { id, api, isOwner } = useProject();
  const webhooks = useProjectData<{ readonly items: readonly WebhookShape[] }>('/webhooks');
  const [isMaking, setMaking] = useState(false);
  const [removed, setRemoved] = useState<WebhookShape>();
  const [made, setMade] = useState<WebhookSecret>();
  const read = () => {
    setMaking(false);
    setRemoved(undefined);
    void webhooks.refetch();
  };
  return (
    <Page
      title={NAV.webhooks}
      lead={WEBHOOKS.lead}
      above={<IntegrationNav />}
      actions={isOwner && <Button onClick={() => setMaking(true)}>{WEBHOOKS.make}</Button>}
    >
      <Loaded query={webhooks} isEmpty={({ items }) => items.length === 0} empty={<p>{WEBHOOKS.empty}</p>}>
        {({ items }) => (
          <Lines
            caption={WEBHOOKS.caption}
            columns={columnsOf(id, isOwner ? setRemoved : undefined)}
            items={items}
            keyOf={(webhook) => webhook.id}
          />
        )}
      </Loaded>
      {isMaking && (
        <WebhookForm
          onClose={() => setMaking(false)}
          save={async (terms) => {
            setMade(await post<WebhookSecret>(`${api}/webhooks`, terms satisfies MakeWebhook));
            read();
          }}
        />
      )}
      {removed !== undefined && <RemoveDialog webhook={removed} onClose={() => setRemoved(undefined)} onDone={read} />}
      {made !== undefined && (
        <SecretOnce title={WEBHOOKS.secretOf} secret={made.secret} onDone={() => setMade(undefined)}>
          <p>{WEBHOOKS.verify}</p>
        </SecretOnce>
      )}
    </Page>
  );
}

function columnsOf(projectId: string, remove: ((webhook: WebhookShape) => void) | undefined): Column<WebhookShape>[] {
  return [
    {
      title: titles.url,
      cell: ({ id, url, description }) => (
        <>
          <Link href={pathOf(projectId, `/integration/webhooks/${id}`)} className="mono order-link">
            {url}
          </Link>
          {description !== '' && <p className="dim">{description}</p>}
        </>
      ),
    },
    { title: titles.types, cell: ({ types }) => types?.join(', ') ?? WEBHOOKS.allTypes },
    { title: titles.status, cell: (webhook) => <WebhookStatus webhook={webhook} /> },
    {
      title: titles.waiting,
      cell: ({ pending }) => (pending >= COUNTED_MAX ? WEBHOOKS.many : grouped(pending)),
      isFigure: true,
    },
    ...(remove === undefined
      ? []
      : [
          {
            title: titles.acts,
            cell: (webhook: WebhookShape) => (
              <button type="button" className="link-button" onClick={() => remove(webhook)}>
                {WEBHOOKS.remove}
                <span className="only-read"> {webhook.url}</span>
              </button>
            ),
          },
        ]),
  ];
}

export function WebhookStatus({ webhook }: { readonly webhook: WebhookShape }) {
  if (!webhook.enabled) {
    const why = webhook.disabled_reason;
    return (
      <>
        <Status tone="calm" icon="info" word={WEBHOOKS.off} />
        {why !== undefined && <p className="dim">{WEBHOOKS.why[why]}</p>}
      </>
    );
  }
  if (webhook.failing_since !== undefined) return <Status tone="bad" icon="bad" word={WEBHOOKS.failing} />;
  return <Status tone="good" icon="good" word={WEBHOOKS.working} />;
}

interface RemoveProps {
  readonly webhook: WebhookShape;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function RemoveDialog({ webhook, onClose, onDone }: RemoveProps) {
  const { api } = useProject();
  const act = useAct(async () => {
    await post(`${api}/webhooks/${webhook.id}/delete`);
    onDone();
  });
  const name = webhook.description === '' ? new URL(webhook.url).hostname : webhook.description;
  return (
    <TypeToConfirm title={WEBHOOKS.removeTitle} name={name} submit={WEBHOOKS.removeSubmit} act={act} onClose={onClose}>
      <p className="mono">{webhook.url}</p>
      <p>{WEBHOOKS.removeLead}</p>
    </TypeToConfirm>
  );
}
