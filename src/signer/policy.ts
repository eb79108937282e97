/**
 * What the signer signs: decided from the bytes alone, per wallet. A caller that was taken over can make it do no more
 * than its role's own work, within its limits; it cannot reach the owner's TRX.
 */
import { txidOf } from '../chain/block.js';
import { ForeignTypeError, UnreadableError, readRawData, type RawData, type SignableType } from '../chain/raw-data.js';

export type SignerRole = 'pool' | 'activation';

/** One wallet the signer acts for. */
export interface WalletPolicy {
  readonly address: string;
  readonly role: SignerRole;
  readonly permissionId: number;
  /** The most one delegation may move. */
  readonly amountMaxSun: bigint;
  /** Different transactions in any 60 s. */
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
  | 'TOO_MANY'
  | 'TOO_MUCH';

/** A refused request; the message names the rule, and what the bytes said against it. */
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

const WINDOW_MS = 60_000;

interface Signed {
  readonly txid: string;
  readonly atMs: number;
  readonly amountSun: bigint;
}

export class Policy {
  private readonly wallets: ReadonlyMap<string, WalletPolicy>;
  private readonly recent = new Map<string, Signed[]>();

  /** `clockMs` is monotonic: moving the wall clock must not open a window. */
  constructor(
    wallets: readonly WalletPolicy[],
    private readonly clockMs: () => number,
  ) {
    this.wallets = new Map(wallets.map((wallet) => [wallet.address, wallet]));
  }

  /** Allows one signature and counts it, or throws RefusedError. The same bytes again are free: same signature. */
  allow(walletAddress: string, rawData: Buffer): { readonly txid: string; readonly says: RawData } {
    const wallet = this.wallets.get(walletAddress);
    if (wallet === undefined) throw new RefusedError('UNKNOWN_WALLET', `no key for ${walletAddress}`);
    const says = read(rawData);
    this.judge(wallet, says);
    const txid = txidOf(rawData);
    this.count(wallet, txid, says);
    return { txid, says };
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
    if (says.resource !== 'ENERGY') throw new RefusedError('WRONG_RESOURCE', `it moves ${String(says.resource)}`);
    if (says.isLocked) throw new RefusedError('LOCKED', 'it locks the delegation');
    if (says.amountSun <= 0n || says.amountSun > wallet.amountMaxSun) {
      throw new RefusedError(
        'AMOUNT_TOO_LARGE',
        `${says.amountSun.toString()} sun is not in 1 to ${wallet.amountMaxSun.toString()}`,
      );
    }
  }

  private count(wallet: WalletPolicy, txid: string, says: RawData): void {
    const nowMs = this.clockMs();
    const recent = (this.recent.get(wallet.address) ?? []).filter((signed) => nowMs - signed.atMs < WINDOW_MS);
    this.recent.set(wallet.address, recent);
    if (recent.some((signed) => signed.txid === txid)) return;
    if (recent.length >= wallet.signaturesPerMinute) {
      throw new RefusedError('TOO_MANY', `more than ${wallet.signaturesPerMinute.toString()} signatures in a minute`);
    }
    // Taking stake back is no risk, and must go on whatever was delegated.
    const amountSun = says.type === 'DelegateResourceContract' ? (says.amountSun ?? 0n) : 0n;
    const sum = recent.reduce((total, signed) => total + signed.amountSun, amountSun);
    if (sum > wallet.sunPerMinute) {
      throw new RefusedError('TOO_MUCH', `more than ${wallet.sunPerMinute.toString()} sun in a minute`);
    }
    recent.push({ txid, atMs: nowMs, amountSun });
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
