/** Permanent revocation of a key. */
import { useQueryClient } from '@tanstack/react-query';
import type { ApiKeyShape, RevokedKey } from '../../../../../src/modules/console/data-shapes.js';
import { useAct } from '../../api/act.js';
import { post } from '../../api/client.js';
import { announce } from '../../parts/live.js';
import { TypeToConfirm } from '../../parts/type-to-confirm.js';
import { useProject } from '../../shell/project.js';
import { KEYS } from '../../text/keys.js';
import { Made } from './rotate-key.js';

export function RevokeDialog({ apiKey, onClose }: { readonly apiKey: ApiKeyShape; readonly onClose: () => void }) {
  const { id, api } = useProject();
  const cache = useQueryClient();
  const text = KEYS.revoke;
  const act = useAct(async () => {
    await post<RevokedKey>(`${api}/keys/${apiKey.id}/revoke`);
    announce(text.done);
    onClose();
    await cache.invalidateQueries({ queryKey: ['project', id, '/keys'] });
  });
  return (
    <TypeToConfirm title={text.title(apiKey.name)} name={apiKey.name} submit={text.submit} act={act} onClose={onClose}>
      <p>{text.lead}</p>
      <Made keyId={apiKey.id} />
      <p>{text.pauses}</p>
    </TypeToConfirm>
  );
}
