/**
 * Lists the webhooks and auto-delegations that an API key created and that work without its signature. Reviewed when
 * the key's secret changes.
 */
import type { INestApplicationContext } from '@nestjs/common';
import { AutoDelegations } from '../auto-delegations/auto-delegations.service.js';
import { Webhooks } from '../webhooks/webhooks.js';
import { fields } from './format.js';

interface MadeByKey {
  readonly webhooks: readonly string[];
  /** The newest ones, at most SHOWN_MAX. */
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

/** Formats them. `fate`: the consequence for auto-delegations. Empty if the key created nothing. */
export function madeText(made: MadeByKey, fate: string): string {
  const { webhooks, auto_delegations: addresses, auto_delegations_count: count } = made;
  const more = count - addresses.length;
  const shown = [...addresses, ...(more > 0 ? [`and ${more.toString()} more`] : [])].join(' ');
  const text = fields([
    ['Webhooks created by this key', webhooks.length > 0 ? webhooks.join(' ') : undefined],
    ['Auto-delegations set with this key', count > 0 ? `${shown} (${fate})` : undefined],
  ]);
  return text === '' ? '' : `\n\n${text}`;
}
