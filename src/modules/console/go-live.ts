/** The steps of a project before real money, read from its records: done or still open. Reads only. */
import { Injectable } from '@nestjs/common';
import { DEFAULT_DURATION_SEC } from '../../domain/price.js';
import { energy, type Credits } from '../../domain/units.js';
import { ConsoleConfig } from '../../platform/config/console-config.js';
import { Database } from '../../platform/database/database.js';
import { Team } from '../people/team.js';
import { priceDirect } from '../quotes/direct-price.js';
import { notFound } from './answers.js';
import type { GoLive, GoLiveStep } from './integration-shapes.js';
import { SaleRecords } from './sale-records.js';

const LIVE_STEPS = [
  'key_used',
  'requests_limited',
  'webhook_accepts',
  'can_pay',
  'low_balance',
  'daily_cap',
  'people',
  'order_delivered',
] as const satisfies readonly GoLiveStep['step'][];
const TEST_STEPS = ['key_used', 'webhook_accepts', 'order_delivered'] as const satisfies readonly GoLiveStep['step'][];

/** One owner alone cannot be replaced when they are away. */
const PEOPLE_MIN = 2;

/**
 * `$1`: the project. Of keys, only those that still work count. An aggregate over no key is null, and then nothing is
 * done. A change of a webhook forgets its earlier answers.
 */
export const STATE = {
  name: 'console_go_live',
  text: `SELECT p.test AS is_test, clock_timestamp() AS checked_at,
      a.frozen, a.floor_credits IS NULL AS is_unlimited, a.balance_credits - a.floor_credits AS available_credits,
      a.low_balance_credits IS NOT NULL AS has_threshold,
      coalesce(k.is_used, false) AS is_key_used,
      p.signature_schemes = 'hmac' OR cardinality(p.allowed_sources) > 0 OR coalesce(k.have_sources, false) AS is_limited,
      a.daily_cap_credits IS NOT NULL OR coalesce(k.have_caps, false) AS is_capped,
      EXISTS (SELECT FROM webhook_endpoint w JOIN webhook_state s ON s.endpoint_id = w.id
               WHERE w.project_id = $1 AND w.deleted_at IS NULL AND w.disabled_at IS NULL AND s.taken_at IS NOT NULL) AS is_delivered_to,
      (SELECT created_at FROM orders WHERE project_id = $1 AND status = 'delivered'
        ORDER BY created_at LIMIT 1) IS NOT NULL AS has_delivery
    FROM project p JOIN credit_account a ON a.project_id = p.id
    CROSS JOIN LATERAL (
      SELECT bool_or(last_used_at IS NOT NULL) AS is_used, bool_and(cardinality(allowed_sources) > 0) AS have_sources,
             bool_and(daily_cap_credits IS NOT NULL) FILTER (WHERE 'order' = ANY (scopes)) AS have_caps
        FROM api_key WHERE project_id = $1 AND revoked_at IS NULL) k
   WHERE p.id = $1`,
};

interface StateRow {
  readonly is_test: boolean;
  readonly checked_at: Date;
  readonly frozen: boolean;
  readonly is_unlimited: boolean;
  /** Null without a limit. */
  readonly available_credits: bigint | null;
  readonly has_threshold: boolean;
  readonly is_key_used: boolean;
  readonly is_limited: boolean;
  readonly is_capped: boolean;
  readonly is_delivered_to: boolean;
  readonly has_delivery: boolean;
}

@Injectable()
export class GoLiveSteps {
  constructor(
    private readonly database: Database,
    private readonly team: Team,
    private readonly saleRecords: SaleRecords,
    private readonly config: ConsoleConfig,
  ) {}

  /** Returns the steps in their order. A test project has only those that rehearse. Throws 404. */
  async read(projectId: string): Promise<GoLive> {
    const [row] = await this.database.query<StateRow>(STATE, [projectId]);
    if (row === undefined) throw notFound('project');
    const members = row.is_test ? [] : await this.team.members({ audience: 'merchant', projectId });
    const isDone: Readonly<Record<GoLiveStep['step'], boolean>> = {
      key_used: row.is_key_used,
      requests_limited: row.is_limited,
      webhook_accepts: row.is_delivered_to,
      can_pay: await this.canPay(row),
      low_balance: row.has_threshold,
      daily_cap: row.is_capped,
      people: members.length >= PEOPLE_MIN && members.every((member) => member.has_second_factor),
      order_delivered: row.has_delivery,
    };
    const steps = row.is_test ? TEST_STEPS : LIVE_STEPS;
    return {
      checked_at: row.checked_at.toISOString(),
      is_test: row.is_test,
      steps: steps
        // A balance without a limit cannot run out.
        .filter((step) => step !== 'low_balance' || !row.is_unlimited)
        .map((step) => ({ step, is_done: isDone[step] })),
    };
  }

  /** True if the credits pay for an ordinary rental; while nothing is priced, if there are any. */
  private async canPay({ frozen, available_credits: available }: StateRow): Promise<boolean> {
    if (frozen) return false;
    if (available === null) return true;
    return available >= (await this.ordinaryPrice());
  }

  private async ordinaryPrice(): Promise<Credits> {
    try {
      const figures = await this.saleRecords.figures();
      return priceDirect(figures, energy(this.config.market.warmEnergy), DEFAULT_DURATION_SEC).credits;
    } catch {
      return 1n as Credits;
    }
  }
}
