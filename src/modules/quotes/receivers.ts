/**
 * Reads the state of receivers on chain, for sizing. Caches each for about a block, so that a burst of quotes for one
 * receiver reads once. Memory and waiting time are bounded. Writes nothing.
 */
import { Injectable } from '@nestjs/common';
import { TronClient } from '../../platform/chain/tron.client.js';
import { withDeadline } from '../../platform/support/clock.js';
import { ExpiringMap } from '../../platform/support/expiring-map.js';
import { Config } from '../../platform/config/config.js';
import { TokenReads } from '../../platform/chain/token-reads.js';
import { recipientOf, type Recipient } from '../../domain/sizing.js';

/**
 * Our choice: the longest wait of a caller. After it the receiver's state is unknown, and the order is sized as cold.
 */
const LOOK_LIMIT_MS = 2000;
/** TRON: a block takes 3 s; a holder seldom empties a wallet within one. */
const WARM_KEPT_MS = 3000;
/** Shorter, because a caller that just activated or funded the receiver retries immediately. */
const OTHERS_KEPT_MS = 1000;
const REMEMBERED_MAX = 10_000;

@Injectable()
export class Receivers {
  private readonly recipients = new ExpiringMap<Recipient>(REMEMBERED_MAX);
  private readonly lookUps = new Map<string, Promise<Recipient>>();
  private readonly token: TokenReads;

  constructor(
    config: Config,
    private readonly client: TronClient,
  ) {
    this.token = new TokenReads(client, config.chain.tokenContract);
  }

  /** Returns the state of `address`; `unknown` if it cannot be read. Never rejects. */
  async lookUp(address: string): Promise<Recipient> {
    const known = this.recipients.get(address);
    if (known !== undefined) return known;
    const underway = this.lookUps.get(address);
    if (underway !== undefined) return underway;
    const look = this.read(address).finally(() => this.lookUps.delete(address));
    this.lookUps.set(address, look);
    return look;
  }

  private async read(address: string): Promise<Recipient> {
    const [tokenBalance, isOnChain] = await Promise.all([
      readable(this.token.balanceOf(address)),
      readable(this.client.account(address).then((account) => account !== undefined)),
    ]);
    const recipient = recipientOf({ tokenBalance, isOnChain });
    this.recipients.set(address, recipient, recipient.state === 'warm' ? WARM_KEPT_MS : OTHERS_KEPT_MS);
    return recipient;
  }
}

/** Returns the value, or undefined if the chain did not deliver it in time. */
async function readable<T>(read: Promise<T>): Promise<T | undefined> {
  return withDeadline(read, LOOK_LIMIT_MS, 'reading a receiver').catch(() => undefined);
}
