/** What a handler declares to the pipeline; everything else is the same for every endpoint. */
import { SetMetadata } from '@nestjs/common';
import type { Scope } from '../../domain/scopes.js';

export const ROUTE_OPTIONS = 'pipeline:route-options';

/**
 * What the requests of a project are counted in: quotes and simulations, all that came beside orders since, and, of test
 * projects alone, whatever is bought.
 */
export type BudgetName = 'quotes' | 'general' | 'testOrders';

export interface RouteOptions {
  /** Counts against this budget of the project (docs/interface.md §4). */
  readonly budget?: BudgetName;
  /**
   * Taken with a signature by MD5 too. It covers neither path nor method, so a captured body would act here as well:
   * only for the paths that were there before HMAC.
   */
  readonly acceptsMd5?: true;
  /** What an API key must be allowed; `read` for a GET and `manage` for anything else unless said. */
  readonly scope?: Scope;
  /** Answered unsigned: only for what is the same for everybody and known to all. */
  readonly isPublic?: true;
  /** Charges the project: its answers carry the Idempotency-Key, and it is served beside all reads. */
  readonly isPurchase?: true;
  /** Signed by HMAC, a POST without a body is taken as `{}`: the family's clients send what has no members so. */
  readonly mayBeEmpty?: true;
  /** The largest body in bytes; 16 KiB unless said. */
  readonly bodyLimitBytes?: number;
}

export const BODY_LIMIT_BYTES = 16 * 1024;
export const SIMULATE_BODY_LIMIT_BYTES = 128 * 1024;

/** Options of one handler: `@RouteOptionsOf({ budget: 'quotes' })`. Without it a handler has the defaults. */
export const RouteOptionsOf = (options: RouteOptions) => SetMetadata(ROUTE_OPTIONS, options);
