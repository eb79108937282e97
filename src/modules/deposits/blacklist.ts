/**
 * Caches the blacklisting of deposit addresses by the token contract. Tokens paid to a blacklisted address cannot be
 * swept.
 */
import { Injectable } from '@nestjs/common';
import { monotonicMs } from '../../platform/support/clock.js';
import { forEachConcurrently } from '../../platform/support/concurrency.js';
import { isBlacklisted } from '../../platform/chain/token-state.js';
import { TronClient } from '../../platform/chain/tron.client.js';
import { DepositTokens } from './deposit-tokens.js';

/**
 * Lifetime of a cached answer. Token owners seldom blacklist an address, and one block may pay many of our addresses.
 */
const KEPT_MS = 60_000;
const KEPT_MAX = 10_000;
const CONCURRENT_READS = 4;

@Injectable()
export class Blacklist {
  private readonly known = new Map<string, { readonly isListed: boolean; readonly atMs: number }>();

  constructor(
    private readonly client: TronClient,
    private readonly tokens: DepositTokens,
  ) {}

  /** Returns true if the address was blacklisted when `read` last asked about it. */
  has(address: string): boolean {
    return this.known.get(address)?.isListed === true;
  }

  /** Asks a node about the addresses without a recent cached answer. Throws ChainUnavailableError. */
  async read(addresses: Iterable<string>): Promise<void> {
    const now = monotonicMs();
    const wanted = [...new Set(addresses)].filter(
      (address) => now - (this.known.get(address)?.atMs ?? -Infinity) > KEPT_MS,
    );
    if (wanted.length === 0) return;
    const { tokens } = await this.tokens.history();
    // A successor token may leave the blacklist to its predecessor, so every token is asked.
    const contracts = tokens.map(({ contract }) => contract);
    const listed = new Set<string>();
    await this.client.pool.ask('which addresses are blacklisted', async (node) => {
      listed.clear();
      await forEachConcurrently(wanted, CONCURRENT_READS, async (address) => {
        for (const contract of contracts) if (await isBlacklisted(node, contract, address)) listed.add(address);
      });
    });
    for (const address of wanted) {
      this.known.delete(address);
      this.known.set(address, { isListed: listed.has(address), atMs: now });
    }
    for (const oldest of this.known.keys()) {
      if (this.known.size <= KEPT_MAX) break;
      this.known.delete(oldest);
    }
  }
}
