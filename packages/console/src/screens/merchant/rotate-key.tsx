/** Rotation of a key: its effects, the overlap with the old secret, and the new secret, shown once. */
import { Button } from '@mantine/core';
import { useState } from 'react';
import type { ApiKeyShape, KeySecret, MadeByKey, RotateKey } from '../../../../../src/modules/console/data-shapes.js';
import { useAct } from '../../api/act.js';
import { post } from '../../api/client.js';
import { useProjectData } from '../../api/project-data.js';
import { Dialog } from '../../parts/dialog.js';
import { Form } from '../../parts/form.js';
import { announce } from '../../parts/live.js';
import { useProject } from '../../shell/project.js';
import { COMMON } from '../../text/common.js';
import { KEYS } from '../../text/keys.js';

interface RotateProps {
  readonly apiKey: ApiKeyShape;
  readonly onClose: () => void;
  readonly onRotated: (secret: KeySecret) => void;
}

/** Default overlap for a key that was used in the last 24 hours: programs depend on it. */
const IN_USE_SEC = 3600;
/** Default overlap for other keys than the primary key: a day. */
const CALM_SEC = 86_400;
const DAY_MS = 86_400_000;

/** True if the key was used in the last 24 hours. */
function isInUse({ last_used_at: usedAt }: ApiKeyShape): boolean {
  return usedAt !== undefined && Date.now() - Date.parse(usedAt) < DAY_MS;
}

function defaultOverlap(key: ApiKeyShape): number {
  if (isInUse(key)) return IN_USE_SEC;
  return key.is_primary ? 0 : CALM_SEC;
}

export function RotateDialog({ apiKey, onClose, onRotated }: RotateProps) {
  const { api } = useProject();
  const text = KEYS.rotate;
  const [chosen, setChosen] = useState<number>();
  const overlap = chosen ?? defaultOverlap(apiKey);
  const act = useAct(async () => {
    const request: RotateKey = { overlap_sec: overlap };
    const secret = await post<KeySecret>(`${api}/keys/${apiKey.id}/rotate`, request);
    announce(text.announced);
    onRotated(secret);
  });
  return (
    <Dialog title={text.title(apiKey.name)} onClose={onClose}>
      <p>{text.lead}</p>
      <Made keyId={apiKey.id} />
      <Form
        act={act}
        submit={text.submit}
        beside={
          <Button variant="default" onClick={onClose}>
            {COMMON.cancel}
          </Button>
        }
      >
        <fieldset>
          <legend>{text.overlap}</legend>
          {isInUse(apiKey) && <p className="dim">{text.inUse}</p>}
          {text.overlaps.map(({ seconds, word, note }) => (
            <label key={seconds} className="choice">
              <input type="radio" name="overlap" checked={overlap === seconds} onChange={() => setChosen(seconds)} />
              <span>
                {word}
                <span className="dim">{note}</span>
              </span>
            </label>
          ))}
        </fieldset>
      </Form>
    </Dialog>
  );
}

/** Lists the objects that the key created and that continue without its signature. */
export function Made({ keyId }: { readonly keyId: string }) {
  const text = KEYS.rotate;
  const { data, isError } = useProjectData<MadeByKey>(`/keys/${keyId}/made`);
  if (isError && data === undefined) return <p className="dim">{text.madeFailed}</p>;
  if (data === undefined) return <div className="waiting-line" />;
  const parts = [
    ...(data.webhooks.length > 0 ? [text.madeWebhooks(data.webhooks.length)] : []),
    ...(data.auto_delegations_count > 0 ? [text.madeAddresses(data.auto_delegations_count)] : []),
  ];
  if (parts.length === 0) return <p className="dim">{text.madeNothing}</p>;
  return (
    <details className="help">
      <summary>
        <span>{`${text.made}: ${parts.join(', ')}`}</span>
      </summary>
      <ul>
        {data.webhooks.map(({ id, url }) => (
          <li key={id} className="mono">
            {url}
          </li>
        ))}
        {data.auto_delegations.map((address) => (
          <li key={address} className="mono">
            {address}
          </li>
        ))}
      </ul>
    </details>
  );
}
