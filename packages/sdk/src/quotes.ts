// Prices and energy figures: nothing here is charged.
import type * as Api from './api-types.js';
import type { CallOptions } from './deadline.js';
import type { Quote, Simulation } from './model.js';
import type { Transport } from './transport.js';

export class Quotes {
  constructor(private readonly transport: Transport) {}

  /**
   * Prices a rental and holds the price for 90 seconds. Without `energy` the service sizes it for a transfer of USDT.
   * `price_sun` is in sun, `credits` is exactly what an order by it is charged.
   *
   * Throws ApiError: NOT_WORTH_RENTING (409), RATE_LIMITED (429), CHAIN_UNAVAILABLE, CAPACITY_UNAVAILABLE (503).
   */
  async create(request: Api.QuoteRequest, options?: CallOptions): Promise<Quote> {
    const call = { method: 'POST', path: '/v1/quotes', body: request, kind: 'read' } as const;
    return (await this.transport.send<Quote>(call, options)).body;
  }

  /**
   * Runs an unsigned contract call and answers the energy it needs; with `quote: true` a quote for just that.
   * A call that would fail is an answer (`would_fail`, `reason`).
   *
   * Throws ApiError: SIMULATION_FAILED (502), RATE_LIMITED (429).
   */
  async simulate(request: Api.SimulateRequest, options?: CallOptions): Promise<Simulation> {
    const call = { method: 'POST', path: '/v1/simulate', body: request, kind: 'read' } as const;
    return (await this.transport.send<Simulation>(call, options)).body;
  }
}
