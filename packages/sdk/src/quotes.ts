// Prices and energy estimates. These calls charge nothing.
import type * as Api from './api-types.js';
import { hasMember } from './answers.js';
import type { CallOptions } from './deadline.js';
import type { Quote, Simulation } from './model.js';
import { isSet, requireMembers, requireSet } from './required.js';
import type { Transport } from './transport.js';

export class Quotes {
  constructor(private readonly transport: Transport) {}

  /**
   * Prices a rental and holds the price for 90 seconds. Without `energy`, the service sizes the rental for a USDT
   * transfer. `price_sun` is in sun; `credits` is exactly the charge of an order by this quote.
   *
   * Throws ApiError: NOT_WORTH_RENTING (409), RATE_LIMITED (429), CHAIN_UNAVAILABLE, CAPACITY_UNAVAILABLE (503).
   */
  async create(request: Api.QuoteRequest, options?: CallOptions): Promise<Quote> {
    requireMembers(request, ['receive_address']);
    const isAnswer = hasMember('ref');
    const call = { method: 'POST', path: '/v1/quotes', body: request, kind: 'read', isAnswer } as const;
    return (await this.transport.send<Quote>(call, options)).body;
  }

  /**
   * Simulates an unsigned contract call and returns the energy it needs; with `quote: true`, also a quote for that
   * energy. A call that would fail is a normal answer (`would_fail`, `reason`).
   *
   * Throws ApiError: SIMULATION_FAILED (502), RATE_LIMITED (429).
   */
  async simulate(request: Api.SimulateRequest, options?: CallOptions): Promise<Simulation> {
    requireMembers(request, ['owner_address', 'contract_address']);
    if (!isSet(request, 'data')) requireSet('function_selector', request.function_selector);
    const isAnswer = hasMember('energy_used');
    const call = { method: 'POST', path: '/v1/simulate', body: request, kind: 'read', isAnswer } as const;
    return (await this.transport.send<Simulation>(call, options)).body;
  }
}
