/** What an API key made that goes on without a signature: to be judged when its secret changes hands. */
import type { INestApplicationContext } from '@nestjs/common';
import { AutoDelegations } from '../auto-delegations/auto-delegations.service.js';
import { Webhooks } from '../webhooks/webhooks.js';
import { fields } from './format.js';

interface MadeByKey {
  readonly webhooks: readonly string[];
  /** The newest of them. */
  readonly auto_delegations: readonly string[];
  readonly auto_delegations_count: number;
}

const SHOWN_MAX = 100;

export async function madeByKey(
  parts: INestApplicationContext,
  { projectId, keyId }: { projectId: string; keyId: string },
): Promise<MadeByKey> {
  const webhooks = await parts.get(Webhooks).list(projectId);
  const { addresses, count } = await parts.get(AutoDelegations).setBy(projectId, keyId, SHOWN_MAX);
  return {
    webhooks: webhooks.filter(({ made_by_key: by }) => by === keyId).map(({ id }) => id),
    auto_delegations: addresses,
    auto_delegations_count: count,
  };
}

/** `fate`: what becomes of auto-delegations. Empty where the key made nothing. */
export function madeText(made: MadeByKey, fate: string): string {
  const { webhooks, auto_delegations: addresses, auto_delegations_count: count } = made;
  const more = count - addresses.length;
  const shown = [...addresses, ...(more > 0 ? [`and ${more.toString()} more`] : [])].join(' ');
  const text = fields([
    ['Webhooks it made', webhooks.length > 0 ? webhooks.join(' ') : undefined],
    ['Auto-delegations it set', count > 0 ? `${shown} (${fate})` : undefined],
  ]);
  return text === '' ? '' : `\n\n${text}`;
}
