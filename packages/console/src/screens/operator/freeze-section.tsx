/** Freezes and unfreezes a project, after its name was typed and with a reason. */
import { Button, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import type { ProjectLine } from '../../../../../src/modules/console/operator-shapes.js';
import { useAct } from '../../api/act.js';
import { post } from '../../api/client.js';
import { useOperatorProject } from '../../api/operator-project.js';
import { useSignedIn } from '../../api/session.js';
import { Loaded } from '../../parts/loaded.js';
import { Section } from '../../parts/page.js';
import { TypeToConfirm } from '../../parts/type-to-confirm.js';
import { FREEZE } from '../../text/freeze.js';

export function FreezeSection({ id }: { readonly id: string }) {
  const isAdmin = useSignedIn().operator_role === 'admin';
  const project = useOperatorProject(id, true);
  const [isAsked, setAsked] = useState(false);
  return (
    <Section title={FREEZE.section} note={FREEZE.note}>
      <Loaded query={project} lines={2}>
        {(data) => (
          <div className="stack">
            <p role="status">{data.frozen ? FREEZE.isFrozen : FREEZE.isActive}</p>
            {isAdmin ? (
              <div className="form-actions">
                <Button {...(!data.frozen && { color: 'red.9' })} onClick={() => setAsked(true)}>
                  {data.frozen ? FREEZE.unfreeze : FREEZE.freeze}
                </Button>
              </div>
            ) : (
              <p className="dim">{FREEZE.reads}</p>
            )}
            <p>
              <Link href={`/system/audit?project=${id}`}>{FREEZE.acts}</Link>
            </p>
            {isAsked && <SetFrozen project={data} onClose={() => setAsked(false)} />}
          </div>
        )}
      </Loaded>
    </Section>
  );
}

interface SetFrozenProps {
  readonly project: ProjectLine;
  readonly onClose: () => void;
}

function SetFrozen({ project, onClose }: SetFrozenProps) {
  // Fixed while the dialog is open, so that the press of its button does what its text says.
  const [as] = useState<'freeze' | 'unfreeze'>(project.frozen ? 'unfreeze' : 'freeze');
  const [reason, setReason] = useState('');
  const cache = useQueryClient();
  const act = useAct(async () => {
    await post<ProjectLine>(`/api/operator/projects/${project.id}/${as}`, { reason: reason.trim() });
    onClose();
    await cache.invalidateQueries();
  });
  return (
    <TypeToConfirm
      title={FREEZE[as]}
      name={project.name}
      submit={FREEZE[as]}
      act={act}
      onClose={onClose}
      isReady={reason.trim() !== ''}
      fields={
        <TextInput
          label={FREEZE.reason}
          description={FREEZE.reasonHelp}
          required
          autoFocus
          autoComplete="off"
          maxLength={1000}
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
      }
    >
      <p>{FREEZE.lead[as]}</p>
    </TypeToConfirm>
  );
}
