/**
 * Checks that an address can receive a delegation, before anything is charged. An activated plain account nearly always
 * stays one, so this is cached for a minute. "Not activated" may change with the next block and is always read again.
 */
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { ChainUnavailableError } from '../../platform/chain/errors.js';
import { TronClient } from '../../platform/chain/tron.client.js';
import { monotonicMs } from '../../platform/support/clock.js';
import { ApiError } from '../../domain/errors.js';
import type { OrderKind } from '../../domain/order-state.js';
import { testAddressName } from '../../domain/test-addresses.js';
import { testAddressRefusal } from '../quotes/test-receivers.js';
import { PoolWallet } from '../../platform/database/entities/pool-wallet.entity.js';
import { refusalNamed } from './refusals.js';

export type ReceiverState = 'activated' | 'not-activated' | 'contract';

/** About 100 bytes each. */
const REMEMBERED_MAX = 100_000;
/**
 * TRON: a plain account becomes a contract when CREATE2 creates one at its address. Until that is noticed, each order
 * taken reserves capacity in vain until its delivery is proven dead, which takes twice as long as this.
 */
const REMEMBERED_MS = 60_000;
const WALLETS_FRESH_MS = 5000;

@Injectable()
export class ReceiverCheck {
  /** Activated plain accounts with the end of their caching, oldest first. */
  private readonly activated = new Map<string, number>();
  private readonly asking = new Map<string, Promise<ReceiverState>>();
  private wallets: { readonly addresses: ReadonlySet<string>; readonly readAtMs: number } | undefined;
  private readingWallets: Promise<ReadonlySet<string>> | undefined;

  constructor(
    private readonly chain: TronClient,
    @InjectRepository(PoolWallet) private readonly pool: Repository<PoolWallet>,
  ) {}

  /**
   * Returns the refusal if no energy can be delegated to `address`: RECEIVER_NOT_ACTIVATED, RECEIVER_NOT_SUPPORTED or
   * CHAIN_UNAVAILABLE. For a test project (`isTest`) the address alone decides.
   */
  async refusalOf(address: string, isTest = false): Promise<ApiError | undefined> {
    if (isTest) return playedRefusal(address, 'rental');
    const refusal = testAddressRefusal(address, isTest);
    if (refusal !== undefined) return refusal;
    // TRON: an account cannot delegate to itself, and energy moved between wallets of ours would be charged for
    // nothing.
    const wallets = this.freshWallets ?? (await this.readWallets());
    if (wallets.has(address)) {
      return new ApiError('RECEIVER_NOT_SUPPORTED', 'This address belongs to the service and cannot rent energy.');
    }
    let state: ReceiverState;
    try {
      state = await this.stateOf(address);
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
      return chainUnavailable(error);
    }
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

  /** Returns the state of an address on chain. Throws ChainUnavailableError, also while nodes contradict each other. */
  async stateOf(address: string): Promise<ReceiverState> {
    this.chain.pool.assertAgreed();
    if (this.isRemembered(address)) return 'activated';
    const asked = this.asking.get(address);
    if (asked !== undefined) return asked;
    const asking = this.askNodes(address).finally(() => this.asking.delete(address));
    this.asking.set(address, asking);
    return asking;
  }

  private async askNodes(address: string): Promise<ReceiverState> {
    const account = await this.chain.account(address);
    if (account === undefined) return 'not-activated';
    if (account.isContract) return 'contract';
    this.remember(address);
    return 'activated';
  }

  private isRemembered(address: string): boolean {
    const until = this.activated.get(address);
    if (until === undefined) return false;
    if (until > monotonicMs()) return true;
    this.activated.delete(address);
    return false;
  }

  private remember(address: string): void {
    this.activated.delete(address);
    this.activated.set(address, monotonicMs() + REMEMBERED_MS);
    if (this.activated.size <= REMEMBERED_MAX) return;
    const [oldest] = this.activated.keys();
    if (oldest !== undefined) this.activated.delete(oldest);
  }

  private get freshWallets(): ReadonlySet<string> | undefined {
    if (this.wallets === undefined || monotonicMs() - this.wallets.readAtMs > WALLETS_FRESH_MS) return undefined;
    return this.wallets.addresses;
  }

  private async readWallets(): Promise<ReadonlySet<string>> {
    this.readingWallets ??= this.pool
      .find({ select: { address: true } })
      .then((rows) => {
        const addresses = new Set(rows.map((row) => row.address));
        this.wallets = { addresses, readAtMs: monotonicMs() };
        return addresses;
      })
      .finally(() => {
        this.readingWallets = undefined;
      });
    return this.readingWallets;
  }
}

/** Returns the refusal that a test address stands for; undefined if the order is played. */
export function playedRefusal(address: string, kind: OrderKind): ApiError | undefined {
  const name = testAddressName(address);
  if (name === 'short of capacity') return refusalNamed('CAPACITY_UNAVAILABLE', undefined);
  return name === 'not activated' && kind === 'rental' ? notActivated() : undefined;
}

function notActivated(): ApiError {
  return new ApiError(
    'RECEIVER_NOT_ACTIVATED',
    'The receiver does not exist on chain yet. Activate it with POST /v1/activate, then order.',
  );
}

/** Returns the 503 for a chain that cannot be read. */
export function chainUnavailable(cause: unknown): ApiError {
  return new ApiError('CHAIN_UNAVAILABLE', 'The chain cannot be read at present. Repeat the request shortly.', {
    cause,
    retryAfterSec: 3,
  });
}
