// Witnesses, their votes and pay, and the maintenance that counts votes. TRON: MaintenanceManager, MortgageService,
// StatisticManager, DelegationStore (release 4.8.1). Left out: other producers than those of
// genesis, missed blocks, and rewards without getChangeDelegation and getAllowNewReward.
import { accountAt, newAccount, putAccount } from './accounts.js';
import { parameter } from './parameters.js';
import type { Reader, State } from './state.js';

export interface Witness {
  /** 42 hex characters. */
  readonly address: string;
  /** Votes as counted by the last maintenance. */
  readonly votes: bigint;
  readonly produced: bigint;
  readonly latestBlock: bigint;
  readonly latestSlot: bigint;
  /** Voters' share of the pay in the current cycle, sun. */
  readonly reward: bigint;
  /** Percentage of its pay that the witness keeps in the current cycle. */
  readonly brokerage: number;
  /** The percentage from the next cycle on. */
  readonly nextBrokerage: number;
  /** Sun paid per vote in all finished cycles, times 10^18. */
  readonly vi: bigint;
}

/** The current cycle, and the time from which the next block begins another, ms. */
export interface Maintenance {
  readonly cycle: bigint;
  readonly nextMs: bigint;
}

/** A block that has just been filled. */
interface FinishedBlock {
  readonly number: bigint;
  readonly timeMs: bigint;
  readonly witness: string;
}

export const DEFAULT_BROKERAGE = 20;
export const VI_UNIT = 10n ** 18n;
const SLOT_MS = 3_000n;
const WITNESSES_KEY = 'p:witnesses';
const CHANGES_KEY = 'p:voteChanges';
const MAINTENANCE_KEY = 'p:maintenance';

export function witnessesAt(state: Reader): readonly Witness[] {
  return (state.get(WITNESSES_KEY) as readonly Witness[] | undefined) ?? [];
}

export function witnessAt(state: Reader, address: string): Witness | undefined {
  return witnessesAt(state).find((witness) => witness.address === address);
}

export function maintenanceAt(state: Reader): Maintenance | undefined {
  return state.get(MAINTENANCE_KEY) as Maintenance | undefined;
}

export function cycleAt(state: Reader): bigint {
  return maintenanceAt(state)?.cycle ?? 1n;
}

/** Returns the state entry of the first maintenance at or after `fromMs`, on the grid that begins with `genesisMs`. */
export function maintenanceEntry(
  cycle: bigint,
  genesisMs: bigint,
  intervalMs: bigint,
  fromMs: bigint,
): readonly [string, Maintenance] {
  const interval = intervalMs > 0n ? intervalMs : 1n;
  return [MAINTENANCE_KEY, { cycle, nextMs: genesisMs + ((fromMs - genesisMs) / interval + 1n) * interval }];
}

/** Adds the producers of genesis as witnesses without votes. TRON: Manager.initWitness. */
export function addGenesisWitnesses(state: State, addresses: readonly string[]): void {
  const fresh = { votes: 0n, produced: 0n, latestBlock: 0n, latestSlot: 0n, reward: 0n, vi: 0n };
  const brokerage = { brokerage: DEFAULT_BROKERAGE, nextBrokerage: DEFAULT_BROKERAGE };
  state.put(
    WITNESSES_KEY,
    addresses.map((address): Witness => ({ address, ...fresh, ...brokerage })),
  );
  for (const address of addresses)
    putAccount(state, { ...(accountAt(state, address) ?? newAccount(address, 'genesis', 0n)), isWitness: true });
}

/** Sets the brokerage from the next cycle on. TRON: DelegationStore.setBrokerage. */
export function setNextBrokerage(state: State, address: string, nextBrokerage: number): void {
  state.put(
    WITNESSES_KEY,
    witnessesAt(state).map((witness) => (witness.address === address ? { ...witness, nextBrokerage } : witness)),
  );
}

/**
 * Returns the votes that the next maintenance adds to each witness. The sum of every change in a cycle equals the new
 * minus the old votes that TRON's VotesStore keeps of each voter.
 */
function voteChangesAt(state: Reader): Readonly<Record<string, bigint>> {
  return (state.get(CHANGES_KEY) as Readonly<Record<string, bigint>> | undefined) ?? {};
}

/** Notes votes for the next maintenance to count; negative for lost ones. */
export function changeVotes(
  state: State,
  changes: readonly { readonly address: string; readonly count: bigint }[],
): void {
  const sums: Record<string, bigint> = { ...voteChangesAt(state) };
  for (const { address, count } of changes) sums[address] = (sums[address] ?? 0n) + count;
  state.put(CHANGES_KEY, sums);
}

/** A sum of sun per vote, and the first cycle at whose end it held. */
type ViStep = readonly [cycle: bigint, vi: bigint];

function viSteps(state: Reader, address: string): readonly ViStep[] {
  return (state.get(`v:${address}`) as readonly ViStep[] | undefined) ?? [];
}

/** Returns a witness's sum of sun per vote at the end of a cycle. TRON: DelegationStore.getWitnessVi. */
export function viAt(state: Reader, cycle: bigint, address: string): bigint {
  return viSteps(state, address).findLast(([from]) => from <= cycle)?.[1] ?? 0n;
}

/** Adds pay that an account can withdraw. TRON: MortgageService.adjustAllowance. */
export function addAllowance(state: State, address: string, sun: bigint): void {
  const account = accountAt(state, address);
  if (sun > 0n && account !== undefined) putAccount(state, { ...account, allowance: (account.allowance ?? 0n) + sun });
}

/** Splits a pay by the witness's brokerage. The doubles are java-tron's. TRON: MortgageService.payReward. */
function paid(state: State, witness: Witness, sun: bigint): Witness {
  const kept = BigInt(Math.trunc((witness.brokerage / 100) * Number(sun)));
  addAllowance(state, witness.address, kept);
  return { ...witness, reward: witness.reward + sun - kept };
}

/** Pays a block: its producer, and each witness with votes by its share of them. TRON: Manager.payReward. */
function payBlock(state: State, producer: string): void {
  const before = witnessesAt(state);
  const blockPay = parameter(state, 'getWitnessPayPerBlock');
  const voteSum = before.reduce((sum, { votes }) => sum + votes, 0n);
  // TRON (payStandbyWitness): a double for each vote, rounded down for each witness.
  const perVote = voteSum < 1n ? 0 : Number(parameter(state, 'getWitness127PayPerBlock')) / Number(voteSum);
  const after = before.map((witness) => {
    const produced = witness.address === producer ? paid(state, witness, blockPay) : witness;
    return witness.votes < 1n ? produced : paid(state, produced, BigInt(Math.trunc(Number(witness.votes) * perVote)));
  });
  state.put(WITNESSES_KEY, after);
}

/** Adds a cycle's reward per vote. TRON: DelegationStore.accumulateWitnessVi, with the votes before they are counted. */
function withCycleReward(state: State, witness: Witness, cycle: bigint): Witness {
  const { reward, votes } = witness;
  if (reward === 0n || votes === 0n) return witness;
  const vi = witness.vi + (reward * VI_UNIT) / votes;
  state.put(`v:${witness.address}`, [...viSteps(state, witness.address), [cycle, vi]]);
  return { ...witness, vi };
}

/**
 * Ends a cycle: rewards per vote, then the votes, then brokerages. Returns the cycle that begins, `passed` later. TRON:
 * MaintenanceManager.doMaintenance.
 */
function maintain(state: State, cycle: bigint, passed: bigint): bigint {
  const changes = voteChangesAt(state);
  const isNewReward = parameter(state, 'getAllowNewReward') === 1n;
  const changesDelegation = parameter(state, 'getChangeDelegation') === 1n;
  const next = witnessesAt(state).map((before) => {
    const witness = isNewReward ? withCycleReward(state, before, cycle) : before;
    const counted = { ...witness, votes: witness.votes + (changes[witness.address] ?? 0n) };
    return changesDelegation ? { ...counted, reward: 0n, brokerage: counted.nextBrokerage } : counted;
  });
  state.put(WITNESSES_KEY, next);
  state.put(CHANGES_KEY, undefined);
  return changesDelegation ? cycle + passed : cycle;
}

/**
 * Applies what follows a block's transactions: pay, statistics, and maintenance if its time has come. Block 1 begins
 * the grid without a maintenance. After a jump in time the cycle advances by all intervals that passed, as if they had
 * had no blocks; java-tron would count one. TRON: Manager.processBlock, DposService.applyBlock.
 */
export function finishBlock(state: State, block: FinishedBlock): void {
  if (parameter(state, 'getChangeDelegation') === 1n) payBlock(state, block.witness);
  const latest = { latestBlock: block.number, latestSlot: block.timeMs / SLOT_MS };
  state.put(
    WITNESSES_KEY,
    witnessesAt(state).map((witness) =>
      witness.address === block.witness ? { ...witness, ...latest, produced: witness.produced + 1n } : witness,
    ),
  );
  const due = maintenanceAt(state);
  if (due === undefined || due.nextMs > block.timeMs) return;
  const interval = parameter(state, 'getMaintenanceTimeInterval');
  const passed = (block.timeMs - due.nextMs) / (interval > 0n ? interval : 1n) + 1n;
  const cycle = block.number === 1n ? due.cycle : maintain(state, due.cycle, passed);
  state.put(...maintenanceEntry(cycle, due.nextMs, interval, block.timeMs));
}
