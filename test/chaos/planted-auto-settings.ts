// Planted bugs in the settings of auto-delegations, each with the test that must catch it.
import { one, type NamedTest, type PlantedBug } from './planted-bug.js';

const SERVICE = 'auto-delegations/auto-delegations.service.ts';
const DTO = 'auto-delegations/auto-delegations.dto.ts';
const PRICES = 'auto-delegations/auto-delegation-prices.ts';

const settings = (title: string): NamedTest => ({ file: 'integration/auto-delegations-api.test.ts', title });
const lists = (title: string): NamedTest => ({ file: 'integration/auto-delegations-list.test.ts', title });
const commands = (title: string): NamedTest => ({ file: 'integration/cli-auto-delegations.test.ts', title });

const REPLACED = 'replaces all settings, keeps its id and what was bought';

export const PLANTED_AUTO_SETTINGS: readonly PlantedBug[] = [
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
    test: settings('is counted one after the other'),
  },
  {
    name: 'an auto-delegation is set for any address',
    changes: one(SERVICE, 'if (refusal !== undefined) throw refusal;', ''),
    test: settings('is an activated account, no contract and none of the service’s own'),
  },
  {
    name: 'an auto-delegation of crumbs is taken',
    changes: one(PRICES, '  priceDirect(figures, keepEnergy, durationSec);\n', ''),
    test: settings('refuses what is not worth renting as an order would'),
  },
  {
    name: 'a day of an unused auto-delegation is rounded down',
    changes: one(PRICES, 'divCeil(kept * DAY_SEC, BigInt(durationSec))', '(kept * DAY_SEC) / BigInt(durationSec)'),
    test: settings('is the price of time for what is kept, by the day'),
  },
  {
    name: 'a refill costs what a crumb would',
    changes: one(
      PRICES,
      'priceDirect(figures, need > least ? need : least, durationSec)',
      'priceTime(figures, need, durationSec)',
    ),
    test: settings('is the price of time for what is kept, by the day'),
  },
  {
    name: 'an auto-delegation ends by the clock of the service',
    changes: one(SERVICE, 'return head && new Date(head.timestampMs);', 'return head && undefined;'),
    test: lists('judges the end by the time of the chain'),
  },
  {
    name: 'what an auto-delegation spent yesterday is spent today',
    changes: one(
      DTO,
      'row.spent_on === shown.at.toISOString().slice(0, 10) ? row.spent_credits : 0',
      'row.spent_credits',
    ),
    test: lists('is of this UTC day alone'),
  },
  {
    name: 'an auto-delegation is deleted by whoever knows its address',
    changes: one(
      SERVICE,
      'DELETE FROM auto_delegation WHERE project_id = $1 AND',
      'DELETE FROM auto_delegation WHERE $1::uuid IS NOT NULL AND',
    ),
    test: lists('is its own project’s alone'),
  },
  {
    name: 'a captured setting of an auto-delegation is taken once more',
    changes: one(SERVICE, "await witness(tx, 'auto-delegation.set', projectId, { address, apiKeyId, ...terms });", ''),
    test: lists('is taken once for each nonce'),
  },
  {
    name: 'a revoked key pays for an auto-delegation that the operator sets',
    changes: one(
      'operator/auto-delegations.command.ts',
      'if (key.revoked_at !== null) {',
      'if (key.id !== projectId) {',
    ),
    test: commands('refuses what a request would be refused for'),
  },
];
