// Planted bugs in the settings of auto-delegations, each with the test that must catch it.
import { one, type NamedTest, type PlantedBug } from './planted-bug.js';

const SERVICE = 'modules/auto-delegations/auto-delegations.service.ts';
const DTO = 'modules/auto-delegations/auto-delegations.dto.ts';
const PRICES = 'modules/auto-delegations/auto-delegation-prices.ts';

const settings = (title: string): NamedTest => ({
  file: 'integration/auto-delegations/auto-delegations-api.test.ts',
  title,
});
const lists = (title: string): NamedTest => ({
  file: 'integration/auto-delegations/auto-delegations-list.test.ts',
  title,
});
const commands = (title: string): NamedTest => ({ file: 'integration/operator/cli-auto-delegations.test.ts', title });

const REPLACED = 'replace all earlier ones, keep id and purchases, and make the address awake and due';

const REFILLS = 'integration/auto-delegations/auto-delegation-refills.test.ts';
const WOKEN: NamedTest = {
  file: 'integration/auto-delegations/auto-delegation-once.test.ts',
  title: 'buys while the address is woken again and again, and forgets no wake',
};

export const PLANTED_AUTO_SETTINGS: readonly PlantedBug[] = [
  {
    name: 'another cap wakes a sleeping address',
    changes: one(SERVICE, 'daily_cap_credits = $3, changed_at', 'daily_cap_credits = $3, ${AWAKE}, changed_at'),
    test: { file: REFILLS, title: 'is not bought for a sleeping address because its cap changes' },
  },
  {
    name: 'a wake-up stops the purchase of a check under way',
    changes: one(SERVICE, 'SET ${AWAKE}, failures = 0, ${DUE_NOW}', 'SET ${AWAKE}, ${CHECK}'),
    test: WOKEN,
  },
  {
    name: 'a check under way forgets a wake-up',
    changes: one(
      'modules/auto-delegations/auto-delegation-claims.ts',
      'CASE WHEN due_again THEN used_at ELSE coalesce(used_at, $7) END',
      'coalesce(used_at, $7)',
    ),
    test: WOKEN,
  },
  {
    name: 'an auto-delegation that is set leaves a check under way valid',
    changes: one(SERVICE, 'due_at = clock_timestamp(), fence = a.fence + 1`', 'due_at = clock_timestamp()`'),
    test: settings(REPLACED),
  },
  {
    name: 'an auto-delegation stays with the key that made it',
    changes: one(
      SERVICE,
      'SET api_key_id = $3, keep_energy = $4',
      'SET api_key_id = coalesce(a.api_key_id, $3), keep_energy = $4',
    ),
    test: settings(REPLACED),
  },
  {
    name: 'auto-delegations of a project are counted beside each other',
    changes: one(
      SERVICE,
      'tx.query(`SELECT pg_advisory_xact_lock($1, hashtext($2))`, [COUNTING, projectId])',
      'Promise.resolve()',
    ),
    test: settings('are counted one after the other: one of two concurrent requests gets the last place'),
  },
  {
    name: 'an auto-delegation is set for any address',
    changes: one(SERVICE, 'if (refusal !== undefined) throw refusal;', ''),
    test: settings('must be an activated account, no contract and no address of the service'),
  },
  {
    name: 'an auto-delegation of crumbs is taken',
    changes: one(PRICES, '  priceDirect(figures, keepEnergy, durationSec, uses);\n', ''),
    test: settings('reject an amount that is not worth renting, as for an order'),
  },
  {
    name: 'a day of an unused auto-delegation is rounded down',
    changes: one(PRICES, 'divCeil(kept * DAY_SEC, BigInt(durationSec))', '(kept * DAY_SEC) / BigInt(durationSec)'),
    test: settings('are the price of the kept energy by the day, and of a worthwhile refill'),
  },
  {
    name: 'a refill costs what a crumb would',
    changes: one(
      PRICES,
      'priceDirect(figures, need > least ? need : least, durationSec, uses)',
      'priceTime(figures, need, durationSec, uses)',
    ),
    test: settings('are the price of the kept energy by the day, and of a worthwhile refill'),
  },
  {
    name: 'an auto-delegation ends by the clock of the service',
    changes: one(SERVICE, 'return head && new Date(head.timestampMs);', 'return head && undefined;'),
    test: lists('judges the end by the chain’s time, which may be ahead of the clock'),
  },
  {
    name: 'what an auto-delegation spent yesterday is spent today',
    changes: one(
      DTO,
      'row.spent_on === shown.at.toISOString().slice(0, 10) ? row.spent_credits : 0',
      'row.spent_credits',
    ),
    test: lists('is of the current UTC day only'),
  },
  {
    name: 'an auto-delegation is deleted by whoever knows its address',
    changes: one(
      SERVICE,
      'DELETE FROM auto_delegation WHERE project_id = $1 AND',
      'DELETE FROM auto_delegation WHERE $1::uuid IS NOT NULL AND',
    ),
    test: lists('affects only its own project'),
  },
  {
    name: 'a captured setting of an auto-delegation is taken once more',
    changes: one(SERVICE, "await witness(tx, 'auto-delegation.set', projectId, { address, apiKeyId, ...terms });", ''),
    test: lists('succeeds once for each nonce, even after the store of nonces was emptied'),
  },
  {
    name: 'a revoked key pays for an auto-delegation that the operator sets',
    changes: one(
      'modules/operator/auto-delegations.command.ts',
      'if (key.revoked_at !== null) {',
      'if (key.id !== projectId) {',
    ),
    test: commands('rejects what a request could not set, and settings that nothing could pay for'),
  },
];
