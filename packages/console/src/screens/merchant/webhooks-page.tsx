/** Webhooks: made, tried, given a new secret, deleted. */
import { Button, TextInput } from '@mantine/core';
import { useState } from 'react';
import { Link } from 'wouter';
import type { MakeWebhook, WebhookSecret, WebhookShape } from '../../../../../src/console/integration-shapes.js';
import { useAct } from '../../api/act.js';
import { post } from '../../api/client.js';
import { useProjectData } from '../../api/project-data.js';
import { grouped } from '../../format/money.js';
import { Dialog } from '../../parts/dialog.js';
import { Form } from '../../parts/form.js';
import { Lines, type Column } from '../../parts/lines.js';
import { Loaded } from '../../parts/loaded.js';
import { Page } from '../../parts/page.js';
import { SecretOnce } from '../../parts/secret-once.js';
import { Status } from '../../parts/status.js';
import { TypeToConfirm } from '../../parts/type-to-confirm.js';
import { pathOf, useProject } from '../../shell/project.js';
import { COMMON } from '../../text/common.js';
import { WEBHOOKS } from '../../text/integration.js';
import { NAV } from '../../text/nav.js';
import { IntegrationNav } from '../../shell/subnav.js';

const titles = WEBHOOKS.columns;

export function WebhooksPage() {
  const { id, isOwner } = useProject();
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
        <MakeDialog
          onClose={() => setMaking(false)}
          onMade={(secret) => {
            setMade(secret);
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
    { title: titles.waiting, cell: ({ pending }) => grouped(pending), isFigure: true },
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

interface MakeProps {
  readonly onClose: () => void;
  readonly onMade: (secret: WebhookSecret) => void;
}

function MakeDialog({ onClose, onMade }: MakeProps) {
  const { api } = useProject();
  const [url, setUrl] = useState('');
  const [types, setTypes] = useState('');
  const [description, setDescription] = useState('');
  const act = useAct(async () => {
    const wanted = types.split(/[\s,]+/).filter((type) => type !== '');
    const request: MakeWebhook = {
      url: url.trim(),
      ...(wanted.length > 0 && { types: wanted }),
      ...(description.trim() !== '' && { description: description.trim() }),
    };
    onMade(await post<WebhookSecret>(`${api}/webhooks`, request));
  });
  return (
    <Dialog title={WEBHOOKS.make} onClose={onClose}>
      <Form
        act={act}
        submit={WEBHOOKS.submit}
        isReady={url.trim().startsWith('http')}
        beside={
          <Button variant="default" onClick={onClose}>
            {COMMON.cancel}
          </Button>
        }
      >
        <TextInput
          label={WEBHOOKS.url}
          description={WEBHOOKS.urlHelp}
          type="url"
          required
          autoFocus
          autoComplete="off"
          value={url}
          onChange={(event) => setUrl(event.currentTarget.value)}
        />
        <TextInput
          label={WEBHOOKS.types}
          description={WEBHOOKS.typesHelp}
          autoComplete="off"
          value={types}
          onChange={(event) => setTypes(event.currentTarget.value)}
        />
        <TextInput
          label={WEBHOOKS.description}
          autoComplete="off"
          value={description}
          onChange={(event) => setDescription(event.currentTarget.value)}
        />
      </Form>
    </Dialog>
  );
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
