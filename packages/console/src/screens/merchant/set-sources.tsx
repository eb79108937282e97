/** Form for a list of allowed IP addresses. It compares the list with recently seen addresses before it saves. */
import { Button, Checkbox, Textarea } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { SetSources, SourcesCheck, SourcesShape } from '../../../../../src/modules/console/data-shapes.js';
import { useAct } from '../../api/act.js';
import { post } from '../../api/client.js';
import { Moment } from '../../parts/figures.js';
import { Dialog } from '../../parts/dialog.js';
import { Form } from '../../parts/form.js';
import { Notice } from '../../parts/notice.js';
import { useProject } from '../../shell/project.js';
import { COMMON } from '../../text/common.js';
import { SOURCES } from '../../text/sources.js';

export interface SourceList {
  /** Absent for the project's own list. */
  readonly keyId?: string;
  readonly name: string;
  readonly allowed: readonly string[];
}

interface SourcesDialogProps {
  readonly list: SourceList;
  readonly onClose: () => void;
  readonly onSaved: () => void;
}

export function SourcesDialog({ list, onClose, onSaved }: SourcesDialogProps) {
  const { api } = useProject();
  const text = SOURCES.edit;
  const [typed, setTyped] = useState(list.allowed.join('\n'));
  const [check, setCheck] = useState<SourcesCheck>();
  const request: SetSources = {
    allowed_sources: typed.split(/[\s,]+/).filter((range) => range !== ''),
    ...(list.keyId !== undefined && { key_id: list.keyId }),
  };
  const act = useAct(async () => setCheck(await post<SourcesCheck>(`${api}/sources/check`, request)));
  const title = list.keyId === undefined ? text.projectTitle : text.keyTitle(list.name);
  if (check !== undefined) {
    return (
      <Dialog title={SOURCES.confirm.title} onClose={onClose}>
        <Confirm check={check} request={request} onBack={() => setCheck(undefined)} onSaved={onSaved} />
      </Dialog>
    );
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <Form
        act={act}
        submit={text.check}
        beside={
          <Button variant="default" onClick={onClose}>
            {COMMON.cancel}
          </Button>
        }
      >
        <Textarea
          label={text.label}
          description={text.help}
          rows={6}
          autoFocus
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
      </Form>
    </Dialog>
  );
}

interface ConfirmProps {
  readonly check: SourcesCheck;
  readonly request: SetSources;
  readonly onBack: () => void;
  readonly onSaved: () => void;
}

function Confirm({ check, request, onBack, onSaved }: ConfirmProps) {
  const { id, api } = useProject();
  const text = SOURCES.confirm;
  const cache = useQueryClient();
  const [isSure, setSure] = useState(false);
  const locked = check.locked_out;
  const isLocking = locked.length > 0;
  const act = useAct(async () => {
    cache.setQueryData(['project', id, '/sources'], await post<SourcesShape>(`${api}/sources`, request));
    void cache.invalidateQueries({ queryKey: ['project', id, '/keys'] });
    onSaved();
  });
  return (
    <Form
      act={act}
      submit={text.submit}
      isDangerous={isLocking}
      isReady={!isLocking || isSure}
      beside={
        <Button variant="default" onClick={onBack}>
          {COMMON.back}
        </Button>
      }
    >
      {request.allowed_sources.length === 0 ? (
        <p>{text.anyone}</p>
      ) : (
        <ul className="plain-list mono">
          {request.allowed_sources.map((range) => (
            <li key={range}>{range}</li>
          ))}
        </ul>
      )}
      {isLocking ? (
        <>
          <Notice tone="warn" title={text.locked(locked.length)}>
            <p>{text.lockedNote}</p>
            <ul>
              {locked.map(({ address, key, at }) => (
                <li key={`${address} ${key.id}`}>
                  <code>{address}</code> {key.name}, <Moment at={at} />
                </li>
              ))}
            </ul>
          </Notice>
          <Checkbox label={text.sure} checked={isSure} onChange={(event) => setSure(event.currentTarget.checked)} />
        </>
      ) : (
        <p>{check.still_allowed === 0 && request.allowed_sources.length > 0 ? text.noneSeen : text.none}</p>
      )}
    </Form>
  );
}
