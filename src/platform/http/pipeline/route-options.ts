/** The options that a handler declares to the pipeline. Everything else is the same for every endpoint. */
import { SetMetadata } from '@nestjs/common';
import type { Scope } from '../../../domain/scopes.js';

export const ROUTE_OPTIONS = 'pipeline:route-options';

/**
 * The request budgets of a project: quotes, simulations and explanations; other requests except orders; and purchases of test
 * projects.
 */
export type BudgetName = 'quotes' | 'general' | 'testOrders';

export interface RouteOptions {
  /** Counts against this budget of the project (docs/interface.md §4). */
  readonly budget?: BudgetName;
  /**
   * Also accepts a signature by MD5. It covers neither path nor method, so a captured body would be valid here too:
   * only for the paths from before HMAC.
   */
  readonly acceptsMd5?: true;
  /** The scope that the API key needs. Default: `read` for a GET, `manage` for others. */
  readonly scope?: Scope;
  /** Answered unsigned: only for public content that is the same for all callers. */
  readonly isPublic?: true;
  /** Charges the project: its answers carry the Idempotency-Key, and it is served beside all reads. */
  readonly isPurchase?: true;
  /** Accepts a POST without a body as `{}` under HMAC: the family's clients send requests without members this way. */
  readonly mayBeEmpty?: true;
  /** The largest body in bytes. Default: 16 KiB. */
  readonly bodyLimitBytes?: number;
}

export const BODY_LIMIT_BYTES = 16 * 1024;
export const SIMULATE_BODY_LIMIT_BYTES = 128 * 1024;

/** Sets the options of one handler: `@RouteOptionsOf({ budget: 'quotes' })`. A handler without it has the defaults. */
export const RouteOptionsOf = (options: RouteOptions) => SetMetadata(ROUTE_OPTIONS, options);
