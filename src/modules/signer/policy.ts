/**
 * Decides from the bytes alone, per wallet, if the signer signs. A compromised caller can have only the role's own
 * operations signed, within its limits. It cannot reach the owner's TRX.
 */
import { txidOf } from '../../platform/chain/block.js';
import {
  ForeignTypeError,
  UnreadableError,
  readRawData,
  type RawData,
  type SignableType,
} from '../../platform/chain/raw-data.js';
import { ageMs, momentOf, type Moment, type SignerClocks } from './clocks.js';
import { Expirations, type ClockRule } from './expiration.js';
import { Window, type Counted } from './window.js';

export type SignerRole = 'pool' | 'activation';

/** A wallet that the signer signs for. */
export interface WalletPolicy {
  readonly address: string;
  readonly role: SignerRole;
  readonly permissionId: number;
  /** Also signs for bandwidth. Without it a stolen worker cannot lend the bandwidth that pays for the reclaims. */
  readonly sellsBandwidth: boolean;
  /** Largest amount of one delegation. */
  readonly amountMaxSun: bigint;
  /** Distinct transactions in any 60 s. */
  readonly signaturesPerMinute: number;
  /** Sum of delegations in any 60 s. */
  readonly sunPerMinute: bigint;
}

export type Refusal =
  | 'UNKNOWN_WALLET'
  | 'UNREADABLE'
  | 'WRONG_TYPE'
  | 'WRONG_OWNER'
  | 'WRONG_PERMISSION'
  | 'WRONG_RECEIVER'
  | 'WRONG_RESOURCE'
  | 'LOCKED'
  | 'AMOUNT_TOO_LARGE'
  | 'EXPIRES_TOO_LATE'
  | 'TOO_MANY'
  | 'TOO_MUCH';

/** A refused request. The message names the rule and the offending content. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
  constructor(
    readonly refusal: Refusal,
    message: string,
  ) {
    super(message);
  }
}

const ALLOWED: Readonly<Record<SignerRole, readonly SignableType[]>> = {
  pool: ['DelegateResourceContract', 'UnDelegateResourceContract'],
  activation: ['AccountCreateContract'],
};

/** Limit of expirations, in addition to the wallets' limits. */
export interface ExpirationLimit {
  readonly clock: ClockRule;
  readonly maxSec: number;
}

/** A transaction that may be signed once `counted` is on disk. */
export interface Allowed {
  readonly says: RawData;
  readonly counted: Counted;
}

export class Policy {
  private readonly wallets: ReadonlyMap<string, WalletPolicy>;
  private readonly windows = new Map<string, Window>();
  private readonly expirations: Expirations;
  private latest: Counted | undefined;

  constructor(
    wallets: readonly WalletPolicy[],
    limit: ExpirationLimit,
    private readonly clocks: SignerClocks,
  ) {
    this.wallets = new Map(wallets.map((wallet) => [wallet.address, wallet]));
    this.expirations = new Expirations(limit.clock, limit.maxSec * 1000);
  }

  /** Restores the entries of an earlier process, oldest first. From then on they age by the monotonic clock alone. */
  restore(entries: readonly Counted[]): void {
    const now = momentOf(this.clocks);
    for (const counted of entries) {
      this.windowOf(counted.wallet).add(counted, now.monotonicMs - ageMs(now, counted));
      this.expirations.restore(counted.anchor);
      this.latest = counted;
    }
    for (const window of this.windows.values()) window.prune(now.monotonicMs);
  }

  /** Returns the entries that a later process needs: every signature that still counts, and the latest one. */
  liveEntries(): readonly Counted[] {
    const entries = [...this.windows.values()].flatMap((window) => window.entries());
    return this.latest === undefined ? entries : [...entries, this.latest];
  }

  /**
   * Allows one signature and counts it, or throws RefusedError. The same bytes again are not counted: the signature is
   * the same.
   */
  allow(walletAddress: string, rawData: Buffer): Allowed {
    const wallet = this.wallets.get(walletAddress);
    if (wallet === undefined) throw new RefusedError('UNKNOWN_WALLET', `no key for ${walletAddress}`);
    const now = momentOf(this.clocks);
    const says = read(rawData);
    this.judge(wallet, says);
    const late = this.expirations.fault(says.timestampMs, says.expiresAtMs, now);
    if (late !== undefined) throw new RefusedError('EXPIRES_TOO_LATE', late);
    return { says, counted: this.count(wallet, txidOf(rawData), says, now) };
  }

  private judge(wallet: WalletPolicy, says: RawData): void {
    if (!ALLOWED[wallet.role].includes(says.type)) {
      throw new RefusedError('WRONG_TYPE', `a ${wallet.role} wallet does not sign ${says.type}`);
    }
    if (says.owner !== wallet.address) throw new RefusedError('WRONG_OWNER', `it acts for ${says.owner}`);
    if (says.permissionId !== wallet.permissionId) {
      throw new RefusedError('WRONG_PERMISSION', `it claims permission ${says.permissionId.toString()}`);
    }
    if (this.wallets.has(says.receiver)) {
      throw new RefusedError('WRONG_RECEIVER', `${says.receiver} is a wallet of our own`);
    }
    if (says.amountSun === undefined) return;
    if (says.resource !== 'ENERGY' && !wallet.sellsBandwidth) {
      throw new RefusedError('WRONG_RESOURCE', `it moves ${String(says.resource)}`);
    }
    if (says.isLocked) throw new RefusedError('LOCKED', 'it locks the delegation');
    if (says.amountSun <= 0n || says.amountSun > wallet.amountMaxSun) {
      throw new RefusedError(
        'AMOUNT_TOO_LARGE',
        `${says.amountSun.toString()} sun is not in 1 to ${wallet.amountMaxSun.toString()}`,
      );
    }
  }

  private count(wallet: WalletPolicy, txid: string, says: RawData, now: Moment): Counted {
    const window = this.windowOf(wallet.address);
    window.prune(now.monotonicMs);
    const known = window.find(txid);
    if (known !== undefined) return known;
    if (window.count >= wallet.signaturesPerMinute) {
      throw new RefusedError('TOO_MANY', `more than ${wallet.signaturesPerMinute.toString()} signatures in a minute`);
    }
    // An undelegation is no risk and must always be possible, so its amount is not limited.
    const amountSun = says.type === 'DelegateResourceContract' ? (says.amountSun ?? 0n) : 0n;
    if (window.sun + amountSun > wallet.sunPerMinute && amountSun > 0n) {
      throw new RefusedError('TOO_MUCH', `more than ${wallet.sunPerMinute.toString()} sun in a minute`);
    }
    const anchor = this.expirations.count(Number(says.expiresAtMs), now);
    const counted: Counted = { wallet: wallet.address, txid, amountSun, ...now, anchor };
    window.add(counted);
    this.latest = counted;
    return counted;
  }

  private windowOf(address: string): Window {
    const window = this.windows.get(address) ?? new Window();
    this.windows.set(address, window);
    return window;
  }
}

function read(rawData: Buffer): RawData {
  try {
    return readRawData(rawData);
  } catch (error) {
    if (error instanceof ForeignTypeError) throw new RefusedError('WRONG_TYPE', error.message);
    if (error instanceof UnreadableError) throw new RefusedError('UNREADABLE', `unreadable: ${error.message}`);
    throw error;
  }
}
