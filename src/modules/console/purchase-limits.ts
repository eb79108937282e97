/** Reads the limits of a project's purchases in the console, and explains a limit that a price exceeds. */
import { usdOfCredits } from '../../domain/conversion.js';
import { ApiError } from '../../domain/errors.js';
import type { Credits } from '../../domain/units.js';
import type { Queryable } from '../../platform/database/database.js';
import { LEFT_TODAY } from '../../platform/database/spent-today.js';
import { consoleKeyId } from '../projects/console-key-id.js';

export interface PurchaseLimits {
  readonly test: boolean;
  readonly frozen: boolean;
  readonly balance_credits: bigint;
  /** The lowest balance that a charge may leave; null without a limit. */
  readonly floor_credits: bigint | null;
  /** Credits that the project's daily cap leaves today; null without a cap. */
  readonly project_left: bigint | null;
  /** The cap of purchases in the console, and what it leaves today; null while none is set. */
  readonly console_cap: bigint | null;
  readonly console_left: bigint | null;
}

const LIMITS = {
  name: 'console_purchase_limits',
  text: `SELECT p.test, account.*, key.* FROM project p
    CROSS JOIN LATERAL (SELECT frozen, balance_credits, floor_credits, ${LEFT_TODAY} AS project_left
                          FROM credit_account WHERE project_id = p.id) account
    LEFT JOIN LATERAL (SELECT daily_cap_credits AS console_cap, ${LEFT_TODAY} AS console_left
                         FROM api_key WHERE id = $2 AND project_id = p.id AND revoked_at IS NULL) key ON true
   WHERE p.id = $1`,
};

/** Throws NOT_FOUND without the project. */
export async function purchaseLimitsOf(on: Queryable, projectId: string): Promise<PurchaseLimits> {
  const [limits] = await on.query<PurchaseLimits>(LIMITS, [projectId, consoleKeyId(projectId)]);
  if (limits === undefined) throw new ApiError('NOT_FOUND', 'No project has this id.');
  return limits;
}

const dollars = (credits: bigint): string => `$${usdOfCredits((credits < 0n ? 0n : credits) as Credits)}`;

/** Returns the reason why the limits refuse a price, and the remedy; undefined if they allow it. */
export function obstacleOf(limits: PurchaseLimits, price: bigint): string | undefined {
  const { console_left: left, project_left: ofProject, floor_credits: floor, balance_credits: balance } = limits;
  if (limits.frozen) return 'This project is frozen, so nothing can be bought. Contact your operator.';
  if (left === null) {
    return 'Nothing can be bought in the console yet. An owner sets a daily cap for it in the settings of the project.';
  }
  if (floor !== null && balance - price < floor) {
    return `The price is ${dollars(price)}, but only ${dollars(balance - floor)} can be spent. Top up under Billing, then go on with this form.`;
  }
  if (ofProject !== null && ofProject < price) {
    return `The price is ${dollars(price)}, but the daily cap of the project leaves ${dollars(ofProject)}. Wait for the next UTC day, or raise the cap in the settings of the project.`;
  }
  if (left < price) {
    return `The price is ${dollars(price)}, but the daily cap of purchases in the console leaves ${dollars(left)}. Wait for the next UTC day, or raise the cap in the settings of the project.`;
  }
  return undefined;
}
