// Addresses that the service keeps supplied with energy. `set` and `wake` are idempotent; `delete` is not.
import type * as Api from './api-types.js';
import { hasMember } from './answers.js';
import type { CallOptions } from './deadline.js';
import { Listing, type PageSize } from './listing.js';
import type { AutoDelegation, PricedAutoDelegation } from './model.js';
import { requireMembers, segment } from './required.js';
import type { Transport } from './transport.js';

export class AutoDelegations {
  constructor(private readonly transport: Transport) {}

  /**
   * Keeps the address supplied from now on. Replaces all earlier settings of the address: omitted members return to
   * their defaults.
   *
   * Throws ApiError: RECEIVER_NOT_ACTIVATED (409), RECEIVER_NOT_SUPPORTED (422), NOT_WORTH_RENTING (409), LIMIT_REACHED
   * (409).
   */
  async set(address: string, request: Api.AutoDelegationRequest, options?: CallOptions): Promise<PricedAutoDelegation> {
    requireMembers(request, ['keep_energy', 'daily_cap_credits']);
    const call = { method: 'PUT', path: pathOf(address), body: request, kind: 'setting', isAnswer } as const;
    return (await this.transport.send<PricedAutoDelegation>(call, options)).body;
  }

  /** Returns the auto-delegation of an address. Throws ApiError NOT_FOUND (404), as do `wake` and `delete`. */
  async get(address: string, options?: CallOptions): Promise<PricedAutoDelegation> {
    const call = { method: 'GET', path: pathOf(address), kind: 'read', isAnswer } as const;
    return (await this.transport.send<PricedAutoDelegation>(call, options)).body;
  }

  /** Lists the project's auto-delegations, newest first. */
  list(
    query: PageSize & { readonly status?: AutoDelegation['status'] | undefined } = {},
    options?: CallOptions,
  ): Listing<AutoDelegation> {
    return new Listing(this.transport, '/v1/auto-delegations', { ...query }, options);
  }

  /**
   * Has the address checked immediately, as if it had just been used. Call it before you send from an address that is
   * asleep.
   */
  async wake(address: string, options?: CallOptions): Promise<AutoDelegation> {
    const call = { method: 'POST', path: `${pathOf(address)}/wake`, kind: 'setting', isAnswer } as const;
    return (await this.transport.send<AutoDelegation>(call, options)).body;
  }

  /** Ends the auto-delegation: the service buys nothing more. Running rentals continue to their end. */
  async delete(address: string, options?: CallOptions): Promise<void> {
    await this.transport.send({ method: 'DELETE', path: pathOf(address), kind: 'change', mayBeEmpty: true }, options);
  }
}

const isAnswer = hasMember('id');

const pathOf = (address: string): string => `/v1/auto-delegations/${segment('address', address)}`;
