/** Form for the URL, events and description of a new or an existing webhook. */
import { Button, Checkbox, TextInput } from '@mantine/core';
import { useState } from 'react';
import type {
  ChangeWebhook,
  MakeWebhook,
  WebhookShape,
} from '../../../../../src/modules/console/integration-shapes.js';
import { useAct } from '../../api/act.js';
import { Dialog } from '../../parts/dialog.js';
import { Form } from '../../parts/form.js';
import { COMMON } from '../../text/common.js';
import { WEBHOOKS } from '../../text/integration.js';

/** Same limit as in the console process. */
const DESCRIPTION_MAX = 500;

export type WebhookTerms = Required<MakeWebhook> & Pick<ChangeWebhook, 'enabled'>;

interface WebhookFormProps {
  /** Absent for a new webhook. */
  readonly webhook?: WebhookShape;
  readonly onClose: () => void;
  readonly save: (terms: WebhookTerms) => Promise<void>;
}

export function WebhookForm({ webhook, onClose, save }: WebhookFormProps) {
  const isNew = webhook === undefined;
  const [url, setUrl] = useState(webhook?.url ?? '');
  const [types, setTypes] = useState(webhook?.types?.join(', ') ?? '');
  const [description, setDescription] = useState(webhook?.description ?? '');
  const [isEnabled, setEnabled] = useState(webhook?.enabled ?? true);
  const act = useAct(() =>
    save({
      url: url.trim(),
      types: types.split(/[\s,]+/).filter((type) => type !== ''),
      description: description.trim(),
      ...(webhook !== undefined && isEnabled !== webhook.enabled && { enabled: isEnabled }),
    }),
  );
  return (
    <Dialog title={isNew ? WEBHOOKS.make : WEBHOOKS.change} onClose={onClose}>
      <Form
        act={act}
        submit={isNew ? WEBHOOKS.submit : WEBHOOKS.save}
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
          maxLength={DESCRIPTION_MAX}
          value={description}
          onChange={(event) => setDescription(event.currentTarget.value)}
        />
        {!isNew && (
          <Checkbox
            label={WEBHOOKS.enabled}
            description={WEBHOOKS.enabledHelp}
            checked={isEnabled}
            onChange={(event) => setEnabled(event.currentTarget.checked)}
          />
        )}
      </Form>
    </Dialog>
  );
}
