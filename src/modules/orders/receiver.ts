/**
 * Checks that an address can receive a delegation, before anything is charged. An activated plain account nearly always
 * stays one, so this is cached for a minute. "Not activated" may change with the next block and is always read again.
 */
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { TronClient } from '../../platform/chain/tron.client.js';
import { ExpiringMap } from '../../platform/support/expiring-map.js';
import { TtlCache } from '../../platform/support/ttl-cache.js';
import { ApiError } from '../../domain/errors.js';
import type { OrderKind } from '../../domain/order-state.js';
import { testAddressName } from '../../domain/test-addresses.js';
import { testAddressRefusal } from '../quotes/test-receivers.js';
import { PoolWallet } from '../../platform/database/entities/pool-wallet.entity.js';
import { pricingRefusal, refusalNamed } from './refusals.js';

export type ReceiverState = 'activated' | 'not-activated' | 'contract';

/** About 100 bytes each. */
const REMEMBERED_MAX = 100_000;
/**
 * TRON: a plain account becomes a contract when CREATE2 creates one at its address. Until that is noticed, each order
 * taken reserves capacity in vain until its delivery is proven dead, which takes twice as long as this.
 */
const REMEMBERED_MS = 60_000;
const WALLETS_LIMITS = { freshMs: 5000, staleMsMax: 5000, keysMax: 1 };

@Injectable()
export class ReceiverCheck {
  /** Activated plain accounts. */
  private readonly activated = new ExpiringMap<true>(REMEMBERED_MAX);
  private readonly asking = new Map<string, Promise<ReceiverState>>();
  private readonly wallets = new TtlCache<ReadonlySet<string>>(WALLETS_LIMITS);

  constructor(
    private readonly client: TronClient,
    @InjectRepository(PoolWallet) private readonly pool: Repository<PoolWallet>,
  ) {}

  /**
   * Returns the refusal if no energy can be delegated to `address`: RECEIVER_NOT_ACTIVATED, RECEIVER_NOT_SUPPORTED or
   * CHAIN_UNAVAILABLE. With `activates`, an address that exists already is refused with ALREADY_ACTIVATED instead of
   * one that does not. For a test project (`isTest`) the address alone decides.
   */
  async refusalOf(address: string, isTest: boolean, activates = false): Promise<ApiError | undefined> {
    if (isTest) return playedRefusal(address, activates ? 'activation' : 'rental');
    const refusal = testAddressRefusal(address, isTest);
    if (refusal !== undefined) return refusal;
    // TRON: an account cannot delegate to itself, and energy moved between wallets of ours would be charged for
    // nothing.
    const wallets = await this.wallets.get('', () => this.readWallets());
    if (wallets.has(address)) {
      return new ApiError('RECEIVER_NOT_SUPPORTED', 'This address belongs to the service and cannot rent energy.');
    }
    try {
      const state = await this.stateOf(address);
      if (!activates) return refusalOfState(state);
      return state === 'not-activated' ? undefined : alreadyActivated();
    } catch (error) {
      return pricingRefusal(error);
    }
  }

  /** Returns the state of an address on chain. Throws ChainUnavailableError, also while nodes contradict each other. */
  async stateOf(address: string): Promise<ReceiverState> {
    this.client.pool.assertAgreed();
    if (this.activated.get(address) === true) return 'activated';
    const asked = this.asking.get(address);
    if (asked !== undefined) return asked;
    const asking = this.askNodes(address).finally(() => this.asking.delete(address));
    this.asking.set(address, asking);
    return asking;
  }

  private async askNodes(address: string): Promise<ReceiverState> {
    const account = await this.client.account(address);
    if (account === undefined) return 'not-activated';
    if (account.isContract) return 'contract';
    this.activated.set(address, true, REMEMBERED_MS);
    return 'activated';
  }

  private async readWallets(): Promise<ReadonlySet<string>> {
    const rows = await this.pool.find({ select: { address: true } });
    return new Set(rows.map((row) => row.address));
  }
}

function refusalOfState(state: ReceiverState): ApiError | undefined {
  switch (state) {
    case 'activated':
      return undefined;
    case 'not-activated':
      return notActivated();
    case 'contract':
      return new ApiError(
        'RECEIVER_NOT_SUPPORTED',
        'The receiver is a contract, but TRON delegates only to other accounts.',
      );
  }
}

/** Returns the refusal that a test address stands for; undefined if the order is played. */
export function playedRefusal(address: string, kind: OrderKind): ApiError | undefined {
  const name = testAddressName(address);
  if (name === 'short of capacity') return refusalNamed('CAPACITY_UNAVAILABLE', undefined);
  return name === 'not activated' && kind === 'rental' ? notActivated() : undefined;
}

export function alreadyActivated(): ApiError {
  return new ApiError('ALREADY_ACTIVATED', 'This address already exists on chain. Nothing was charged.');
}

function notActivated(): ApiError {
  return new ApiError(
    'RECEIVER_NOT_ACTIVATED',
    'The receiver does not exist on chain yet. Order with activate: true, or activate it with POST /v1/activate first.',
  );
}
