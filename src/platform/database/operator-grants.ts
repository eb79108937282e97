/**
 * Rights of an operators' console on the tables of projects and money that it writes; grants.ts has its other rights.
 * It may replace sealed secrets, but neither read nor open them. It cannot change orders, legs or the pool.
 */
import { DEPOSIT_DECISION, STATE_AS_NEW, WEBHOOK_ACTS, type Access } from './grant-columns.js';

const KEY_SECRETS = ['sealed', 'previous_sealed'];
const ENDPOINT_SECRETS_UNREAD = ['secret_sealed', 'previous_secret_sealed'];

export const OPERATOR_TABLES: Readonly<Record<string, Access>> = {
  api_key: {
    select: { but: KEY_SECRETS },
    insert: 'all',
    update: {
      only: [
        ...['name', 'scopes', 'allowed_sources', 'daily_cap_credits', 'revoked_at'],
        ...['sealed', 'previous_sealed', 'previous_until'],
      ],
    },
  },
  // A new project inserts its account. A balance changes together with an entry of credit_entry.
  credit_account: { select: 'all', insert: 'all', update: { but: ['project_id', 'spent_on', 'spent_credits'] } },
  credit_entry: { select: 'all', insert: 'all' },
  // The database stamps the time of the request, and no role changes the request itself.
  credit_request: {
    select: 'all',
    insert: { only: ['id', 'project_id', 'kind', 'credits', 'reference', 'reason', 'asked_by', 'asked_by_email'] },
    update: { only: ['status', 'decided_by', 'decided_by_email', 'decided_at', 'decision_reason'] },
  },
  // A decision on a held deposit, and on the small ones that wait with it.
  deposit: { select: 'all', update: { only: DEPOSIT_DECISION } },
  deposit_account: { select: 'all', update: { only: ['created_at'] } },
  deposit_address: { select: 'all', insert: 'all' },
  deposit_sum: { select: 'all', update: { only: ['amount', 'worth', 'decision', 'reason', 'is_settled'] } },
  event: {
    select: 'all',
    insert: { only: ['order_id', 'from_status', 'to_status', 'chain_at', 'project_id', 'type', 'snapshot'] },
  },
  price_row: { select: 'all', insert: 'all', update: 'all', delete: 'all' },
  project: {
    select: { but: ['api_key_sealed'] },
    insert: 'all',
    update: { but: ['id', 'test', 'created_at'] },
  },
  webhook_act: WEBHOOK_ACTS,
  webhook_delivery: { select: 'all', insert: 'all', update: { only: ['next_at', 'is_fresh', 'is_requested'] } },
  webhook_endpoint: {
    select: { but: ENDPOINT_SECRETS_UNREAD },
    insert: 'all',
    update: { but: ['id', 'project_id', 'made_by_key', 'created_at'] },
  },
  webhook_state: { select: 'all', insert: 'all', update: { only: STATE_AS_NEW } },
};
