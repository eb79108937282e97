// Accounts, permissions, stake and delegations as chain state. Amounts are in sun. Slots are block timestamps / 3000.
// Windows are thousandths of a slot (java-tron's "optimized" windows); 0 = not set.
import type { Reader, State } from './state.js';

export const RESOURCES = ['BANDWIDTH', 'ENERGY', 'TRON_POWER'] as const;
export type Resource = (typeof RESOURCES)[number];
/** A resource that can be used and delegated. */
export type Spendable = 'BANDWIDTH' | 'ENERGY';

export const SUN_PER_TRX = 1_000_000n;

export interface Key {
  readonly address: string;
  readonly weight: bigint;
}
export interface Permission {
  readonly type: 0 | 1 | 2;
  readonly id: number;
  readonly name: string;
  readonly threshold: bigint;
  readonly operations: string;
  readonly keys: readonly Key[];
}
/** Usage of a staked or delegated resource. */
export interface Usage {
  readonly used: bigint;
  readonly slot: bigint;
  readonly window: bigint;
}
export interface Unfreezing {
  readonly resource: Resource;
  readonly amount: bigint;
  readonly expireMs: bigint;
}
/** Votes for a witness; one is one TRX of TRON Power. */
export interface Vote {
  readonly address: string;
  readonly count: bigint;
}
/** The cycles that a voter was not yet paid for. TRON: DelegationStore's begin cycle, end cycle and account vote. */
export interface RewardRecord {
  readonly begin: bigint;
  readonly end: bigint;
  /** The votes at the start of a cycle in which they changed. */
  readonly snapshot?: { readonly cycle: bigint; readonly votes: readonly Vote[] };
}
export interface Account {
  readonly address: string;
  readonly name: string;
  readonly isContract: boolean;
  /** Present at genesis: printed with asset_optimized and without permissions. */
  readonly isGenesis: boolean;
  readonly balance: bigint;
  readonly createMs: bigint;
  readonly operationMs: bigint;
  readonly freeNetUsed: bigint;
  readonly freeNetSlot: bigint;
  readonly usage: Readonly<Record<Spendable, Usage>>;
  readonly owner: Permission | null;
  readonly actives: readonly Permission[];
  readonly frozen: Readonly<Record<Resource, bigint>>;
  readonly delegated: Readonly<Record<Spendable, bigint>>;
  readonly acquired: Readonly<Record<Spendable, bigint>>;
  readonly unfreezing: readonly Unfreezing[];
  /** TRC10 balances by id, without zeros; absent if the account never held a token. */
  readonly assets?: Readonly<Record<string, bigint>>;
  /** -1 once the account has staked under the newer voting model, as java-tron prints it. */
  readonly oldTronPower: bigint;
  readonly votes?: readonly Vote[];
  /** Settled rewards and pay, sun. */
  readonly allowance?: bigint;
  /** Head time at the last withdrawal of rewards. */
  readonly withdrawMs?: bigint;
  readonly isWitness?: boolean;
  readonly rewards?: RewardRecord;
}
export interface Delegation {
  readonly from: string;
  readonly to: string;
  readonly amount: Readonly<Record<Spendable, bigint>>;
  readonly expireMs: Readonly<Record<Spendable, bigint>>;
}

/** Operations of the active permission that every new account gets. TRON: recorded from the real node. */
const DEFAULT_OPERATIONS = '7fff1fc0033ec10f' + '00'.repeat(24);
/** Operations that a permission may hold: the default ones and AccountPermissionUpdate. */
export const AVAILABLE_OPERATIONS = '7fff1fc0037ec10f' + '00'.repeat(24);

const UNUSED: Usage = { used: 0n, slot: 0n, window: 0n };

export function ownerPermissionOf(address: string): Permission {
  return { type: 0, id: 0, name: 'owner', threshold: 1n, operations: '', keys: [{ address, weight: 1n }] };
}

export function activePermissionOf(address: string): Permission {
  const keys = [{ address, weight: 1n }];
  return { type: 2, id: 2, name: 'active', threshold: 1n, operations: DEFAULT_OPERATIONS, keys };
}

/** Returns an empty account. Contracts and genesis accounts have no permissions of their own. */
export function newAccount(address: string, kind: 'normal' | 'contract' | 'genesis', createMs: bigint): Account {
  const normal = kind === 'normal';
  return {
    address,
    name: '',
    isContract: kind === 'contract',
    isGenesis: kind === 'genesis',
    balance: 0n,
    createMs: normal ? createMs : 0n,
    operationMs: 0n,
    freeNetUsed: 0n,
    freeNetSlot: 0n,
    usage: { BANDWIDTH: UNUSED, ENERGY: UNUSED },
    owner: normal ? ownerPermissionOf(address) : null,
    actives: normal ? [activePermissionOf(address)] : [],
    frozen: { BANDWIDTH: 0n, ENERGY: 0n, TRON_POWER: 0n },
    delegated: { BANDWIDTH: 0n, ENERGY: 0n },
    acquired: { BANDWIDTH: 0n, ENERGY: 0n },
    unfreezing: [],
    oldTronPower: 0n,
  };
}

/**
 * Turns a plain account into the contract created at its address. It keeps everything except resources delegated to it.
 * TRON: Program.createContractImpl, AccountCapsule.clearDelegatedResource.
 */
export function becomingContract(account: Account): Account {
  return { ...account, isContract: true, acquired: { BANDWIDTH: 0n, ENERGY: 0n } };
}

export function accountAt(state: Reader, address: string): Account | undefined {
  return state.get(`a:${address}`) as Account | undefined;
}

export function putAccount(state: State, account: Account): void {
  state.put(`a:${account.address}`, account);
}

export function deleteAccount(state: State, address: string): void {
  state.put(`a:${address}`, undefined);
}

/** Returns the permission with this id. A missing owner permission has a default; a missing active one is undefined. */
export function permissionOf(account: Account, id: number): Permission | undefined {
  if (id === 0) return account.owner ?? ownerPermissionOf(account.address);
  return account.actives.find((p) => p.id === id);
}

function delegationKey(from: string, to: string, locked: boolean): string {
  return `d:${from}${to}${locked ? 'L' : 'U'}`;
}

export function delegationAt(state: Reader, from: string, to: string, locked: boolean): Delegation | undefined {
  return state.get(delegationKey(from, to, locked)) as Delegation | undefined;
}

/** Stores a delegation record; removes an empty one. */
export function putDelegation(state: State, record: Delegation, locked: boolean): void {
  const empty = record.amount.BANDWIDTH === 0n && record.amount.ENERGY === 0n;
  state.put(delegationKey(record.from, record.to, locked), empty ? undefined : record);
}

export function emptyDelegation(from: string, to: string): Delegation {
  return { from, to, amount: { BANDWIDTH: 0n, ENERGY: 0n }, expireMs: { BANDWIDTH: 0n, ENERGY: 0n } };
}

/**
 * Key of the delegation index, which lists partners in both directions. The value is the time of the newest delegation,
 * ms.
 */
export function indexKey(account: string, direction: 'to' | 'from', other: string): string {
  return `i:${account}:${direction}:${other}`;
}
