/** Creation of a key: its name, scopes and own limits. */
import { Button, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { KeyScope, KeySecret, MakeKey } from '../../../../../src/modules/console/data-shapes.js';
import { SCOPES } from '../../../../../src/domain/scopes.js';
import { useAct } from '../../api/act.js';
import { post } from '../../api/client.js';
import { dollarsTyped } from '../../../../../src/domain/typed-amount.js';
import { toJsonInteger } from '../../../../../src/domain/units.js';
import { Dialog } from '../../parts/dialog.js';
import { Form } from '../../parts/form.js';
import { useProject } from '../../shell/project.js';
import { COMMON } from '../../text/common.js';
import { KEYS } from '../../text/keys.js';

interface MakeProps {
  readonly onClose: () => void;
  readonly onMade: (secret: KeySecret) => void;
}

export function MakeKeyDialog({ onClose, onMade }: MakeProps) {
  const { api } = useProject();
  const text = KEYS.make;
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<readonly KeyScope[]>(['read', 'quote', 'order']);
  const [cap, setCap] = useState('');
  const [sources, setSources] = useState('');
  const { value: capCredits, fault: capFault } = cap.trim() === '' ? {} : dollarsTyped(cap);
  const act = useAct(async () => {
    const ranges = sources.split(/[\s,]+/).filter((range) => range !== '');
    const request: MakeKey = {
      name: name.trim(),
      scopes,
      ...(ranges.length > 0 && { allowed_sources: ranges }),
      ...(capCredits !== undefined && { daily_cap_credits: toJsonInteger(capCredits) }),
    };
    onMade(await post<KeySecret>(`${api}/keys`, request));
  });
  const turn = (scope: KeyScope) =>
    setScopes(SCOPES.filter((known) => (known === scope ? !scopes.includes(known) : scopes.includes(known))));
  return (
    <Dialog title={text.title} onClose={onClose}>
      <Form
        act={act}
        submit={text.submit}
        isReady={name.trim() !== '' && scopes.length > 0 && capFault === undefined}
        beside={
          <Button variant="default" onClick={onClose}>
            {COMMON.cancel}
          </Button>
        }
      >
        <TextInput
          label={text.name}
          description={text.nameHelp}
          required
          autoFocus
          autoComplete="off"
          maxLength={60}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <fieldset>
          <legend>{text.scopes}</legend>
          {SCOPES.map((scope) => (
            <label key={scope} className="choice">
              <input type="checkbox" checked={scopes.includes(scope)} onChange={() => turn(scope)} />
              <span>
                {KEYS.scopes[scope]}
                <span className="dim">{KEYS.scopesMean[scope]}</span>
              </span>
            </label>
          ))}
        </fieldset>
        <TextInput
          label={text.cap}
          description={text.capHelp}
          inputMode="decimal"
          autoComplete="off"
          error={capFault}
          value={cap}
          onChange={(event) => setCap(event.currentTarget.value)}
        />
        <TextInput
          label={text.sources}
          description={text.sourcesHelp}
          autoComplete="off"
          spellCheck={false}
          value={sources}
          onChange={(event) => setSources(event.currentTarget.value)}
        />
      </Form>
    </Dialog>
  );
}
