/** Form for the URL, events and description of a new or an existing webhook. */
import { Button, Checkbox, TextInput } from '@mantine/core';
import { useState } from 'react';
import type {
  ChangeWebhook,
  MakeWebhook,
  WebhookShape,
} from '../../../../../src/modules/console/integration-shapes.js';
import { EVENT_TYPES } from '../../../../../src/domain/event-types.js';
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
  const [isAll, setAll] = useState(webhook?.types === undefined);
  const [types, setTypes] = useState<readonly string[]>(webhook?.types ?? []);
  const [description, setDescription] = useState(webhook?.description ?? '');
  const [isEnabled, setEnabled] = useState(webhook?.enabled ?? true);
  const act = useAct(() =>
    save({
      url: url.trim(),
      types: isAll ? [] : types,
      description: description.trim(),
      ...(webhook !== undefined && isEnabled !== webhook.enabled && { enabled: isEnabled }),
    }),
  );
  return (
    <Dialog title={isNew ? WEBHOOKS.make : WEBHOOKS.change} onClose={onClose}>
      <Form
        act={act}
        submit={isNew ? WEBHOOKS.submit : WEBHOOKS.save}
        isReady={url.trim().startsWith('http') && (isAll || types.length > 0)}
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
        <fieldset>
          <legend>{WEBHOOKS.types}</legend>
          <label className="choice">
            <input type="checkbox" checked={isAll} onChange={() => setAll(!isAll)} />
            <span>
              {WEBHOOKS.everyType}
              <span className="dim">{WEBHOOKS.everyTypeNote}</span>
            </span>
          </label>
          {!isAll && <TypeList chosen={types} onChange={setTypes} />}
        </fieldset>
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

interface TypeListProps {
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
}

function TypeList({ chosen, onChange }: TypeListProps) {
  const turn = (type: string) =>
    onChange(EVENT_TYPES.filter((known) => (known === type ? !chosen.includes(known) : chosen.includes(known))));
  return (
    <div className="type-list">
      {EVENT_TYPES.map((type) => (
        <label key={type} className="choice">
          <input type="checkbox" checked={chosen.includes(type)} onChange={() => turn(type)} />
          <code>{type}</code>
        </label>
      ))}
    </div>
  );
}
