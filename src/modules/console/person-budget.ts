/**
 * Limits a person's requests to a console, with the API's limit for requests other than purchases
 * (docs/interface.md §4). Each process counts separately, because a console has no Redis.
 */
import { Injectable } from '@nestjs/common';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { ConsoleConfig } from '../../platform/config/console-config.js';
import { ApiError } from '../../domain/errors.js';

const WINDOW_SEC = 60;

@Injectable()
export class PersonBudget {
  private readonly limiter: RateLimiterMemory;

  constructor({ http }: ConsoleConfig) {
    this.limiter = new RateLimiterMemory({ points: http.generalRateLimitPerMinute, duration: WINDOW_SEC });
  }

  /** Counts one request of a person. Throws 429 RATE_LIMITED beyond the budget. */
  async take(personId: string): Promise<void> {
    try {
      await this.limiter.consume(personId);
    } catch (thrown) {
      // The library rejects with a result object if the budget is spent.
      if (!(thrown instanceof RateLimiterRes)) throw thrown;
      const retryAfterSec = Math.max(1, Math.ceil(thrown.msBeforeNext / 1000));
      throw new ApiError('RATE_LIMITED', 'Too many requests within a minute. Wait a moment.', { retryAfterSec });
    }
  }
}
