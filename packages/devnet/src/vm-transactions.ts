// Contract transactions: energy limits, execution and payment. TRON: VMActuator, ReceiptCapsule.
import { type Account, accountAt, deleteAccount, putAccount } from './accounts.js';
import { TOKEN_ID_MIN, checkTokenTransfer } from './assets.js';
import { deployedAddress, isAddress, keccak256 } from './address.js';
import {
  type Contract,
  codeAt,
  contractAt,
  energyStateAt,
  energyStateEntry,
  putContract,
  removeContract,
} from './contract-store.js';
import { validateError } from './errors.js';
import { type VmResult, runVm } from './evm.js';
import type { VmRequest } from './evm-meter.js';
import type { Creation } from './evm-state.js';
import { type Context, exeError } from './fees.js';
import { int, sub, text } from './fields.js';
import { addTotals, parameter } from './parameters.js';
import { spend, usableEnergy } from './resources.js';
import type { Tx } from './transactions.js';
import type { State } from './state.js';
import { vmRulesAt } from './vm-rules.js';

/** The block data that a contract sees. */
export interface BlockInfo {
  readonly number: bigint;
  readonly timeMs: bigint;
  readonly witness: string;
  readonly cycle: bigint;
  readonly chainId: bigint;
  readonly idOf: (number: number) => string | undefined;
}
export interface EnergyBill {
  readonly usage: bigint;
  readonly fee: bigint;
  readonly originUsage: bigint;
  readonly total: bigint;
  readonly penalty: bigint;
}
export interface VmOutcome {
  readonly vm: VmResult;
  readonly bill: EnergyBill;
  readonly contract: string;
  /** The contractResult: return data, or the code of a new contract. */
  readonly output: string;
}

function min(...values: readonly bigint[]): bigint {
  return values.reduce((a, b) => (b < a ? b : a));
}

function checkFeeLimit(context: Context, tx: Tx): bigint {
  const max = parameter(context.state, 'getMaxFeeLimit');
  const feeLimit = int(tx.data, 'fee_limit');
  if (feeLimit < 0n || feeLimit > max) throw validateError(`feeLimit must be >= 0 and <= ${String(max)}`);
  return feeLimit;
}

/**
 * Returns the energy that an account may use: unused staked energy plus energy its TRX can buy, capped by the fee
 * limit.
 */
function accountEnergy(context: Context, account: Account, feeLimit: bigint, value: bigint): bigint {
  const price = energyPrice(context);
  const spare = account.balance - value;
  const bought = (spare > 0n ? spare : 0n) / price;
  return min(usableEnergy(context.state, account, context.slot) + bought, feeLimit / price);
}

function energyPrice(context: Context): bigint {
  const fee = parameter(context.state, 'getEnergyFee');
  return fee > 0n ? fee : 100n;
}

/**
 * Returns the deployer's share. It is zero if the caller pays all, comes from staked energy only, and is bounded by the
 * contract's limit.
 */
function originEnergy(context: Context, contract: Contract, callerEnergy: bigint): bigint {
  const origin = accountAt(context.state, contract.origin);
  if (origin === undefined || contract.userPercent >= 100n) return 0n;
  const most = min(usableEnergy(context.state, origin, context.slot), contract.originEnergyLimit);
  if (contract.userPercent <= 0n) return most;
  return min((callerEnergy * (100n - contract.userPercent)) / contract.userPercent, most);
}

/** Builds a VM request for this chain; constant calls use it too. */
export function vmRequest(
  context: Context,
  block: BlockInfo,
  call: Pick<VmRequest, 'caller' | 'contract' | 'isCreate' | 'data' | 'value' | 'token' | 'energyLimit' | 'txId'>,
  cpuMs = parameter(context.state, 'getMaxCpuTimeOfOneTx'),
): VmRequest {
  return {
    ...call,
    state: context.state,
    block,
    headMs: context.headMs,
    cycle: block.cycle,
    dynamicEnergy: parameter(context.state, 'getAllowDynamicEnergy') === 1n,
    energyFee: parameter(context.state, 'getEnergyFee'),
    chainId: block.chainId,
    rules: vmRulesAt(context.state),
    cpuMs,
  };
}

/** The check of TRON's MUtil.transfer, which constant calls make too. */
export function checkValue(context: Context, caller: string, contract: string, value: bigint): void {
  if (value <= 0n) return;
  const account = accountAt(context.state, caller);
  if (account === undefined) throw validateError('Validate InternalTransfer error, no OwnerAccount.');
  if (caller === contract) throw validateError('Cannot transfer TRX to yourself.');
  if (account.balance < value) throw validateError('Validate InternalTransfer error, balance is not sufficient.');
}

/** Stores the changes of a successful run. */
export function keep(state: State, vm: VmResult, cycle: bigint, txId: string): void {
  vm.vmState.commitTo(state);
  for (const [address, used] of vm.usedBy) {
    const now = energyStateAt(state, address, cycle);
    state.put(...energyStateEntry(address, { ...now, used: now.used + used }));
  }
  for (const [address, made] of vm.vmState.creating) keepMade(state, address, made, txId);
  for (const address of vm.deleted) {
    deleteAccount(state, address);
    removeContract(state, address);
  }
}

/**
 * Stores a contract created by a contract. It has no deployer, so its caller pays all energy. A failed one left no
 * code.
 */
function keepMade(state: State, address: string, { maker, version }: Creation, txId: string): void {
  const code = codeAt(state, address);
  if (code === undefined) return;
  putContract(state, {
    address,
    origin: maker,
    name: '',
    abi: {},
    bytecode: '',
    userPercent: 100n,
    originEnergyLimit: 0n,
    codeHash: Buffer.from(keccak256(code)).toString('hex'),
    trxHash: txId,
    version,
  });
}

/** Returns the TRC10 token of a contract transaction. TRON: VMActuator.checkTokenValueAndId. */
function tokenOf(tx: Tx): NonNullable<VmRequest['token']> {
  const value = int(tx.body, 'call_token_value');
  const id = int(tx.body, 'token_id');
  if (value < 0n) throw validateError('tokenValue must be >= 0');
  if (id <= TOKEN_ID_MIN && id !== 0n) throw validateError(`tokenId must be > ${String(TOKEN_ID_MIN)}`);
  if (value > 0n && id === 0n)
    throw validateError(`invalid arguments with tokenValue = ${String(value)}, tokenId = ${String(id)}`);
  return { id: String(id), value };
}

export async function triggerContract(context: Context, tx: Tx, block: BlockInfo): Promise<VmOutcome> {
  const address = text(tx.body, 'contract_address');
  const contract = contractAt(context.state, address);
  if (contract === undefined) throw validateError('No contract or not a smart contract');
  const value = int(tx.body, 'call_value');
  if (value < 0n) throw validateError('callValue must be >= 0');
  const token = tokenOf(tx);
  const feeLimit = checkFeeLimit(context, tx);
  const caller = accountAt(context.state, tx.owner);
  if (caller === undefined) throw validateError('Validate InternalTransfer error, no OwnerAccount.');
  const own = accountEnergy(context, caller, feeLimit, value);
  const isOrigin = contract.origin === tx.owner;
  const shared = isOrigin ? 0n : originEnergy(context, contract, own);
  checkValue(context, tx.owner, address, value);
  if (token.value > 0n) checkTokenTransfer(context.state, tx.owner, address, token.id, token.value);
  const data = Buffer.from(text(tx.body, 'data'), 'hex');
  const limits = { caller: tx.owner, contract: address, isCreate: false, data, value, token };
  const vm = await runVm(vmRequest(context, block, { ...limits, energyLimit: own + shared, txId: tx.id }));
  const origin = isOrigin ? undefined : accountAt(context.state, contract.origin);
  const part =
    origin === undefined || contract.userPercent >= 100n
      ? 0n
      : min(
          (vm.energyUsed * (100n - contract.userPercent)) / 100n,
          usableEnergy(context.state, origin, context.slot),
          contract.originEnergyLimit,
        );
  const left = usableEnergy(context.state, caller, context.slot);
  if (vm.result === 'SUCCESS') keep(context.state, vm, block.cycle, tx.id);
  if (part > 0n) useEnergy(context, contract.origin, part);
  const bill = payEnergy(context, tx.owner, vm, vm.energyUsed - part, part, left);
  return { vm, bill, contract: address, output: vm.output };
}

function useEnergy(context: Context, address: string, energy: bigint): void {
  const account = accountAt(context.state, address);
  if (account === undefined) return;
  putAccount(context.state, {
    ...account,
    operationMs: context.headMs,
    usage: { ...account.usage, ENERGY: spend(account.usage.ENERGY, energy, context.slot) },
  });
}

/**
 * Charges the caller: staked energy first; the rest is paid in burned TRX. `left` is the staked energy before the run.
 */
function payEnergy(
  context: Context,
  payer: string,
  vm: VmResult,
  usage: bigint,
  originUsage: bigint,
  left: bigint,
): EnergyBill {
  const staked = min(left, usage);
  useEnergy(context, payer, staked);
  const fee = (usage - staked) * energyPrice(context);
  const account = accountAt(context.state, payer);
  if (fee > 0n) {
    if (account === undefined || account.balance < fee) throw exeError(`${payer} insufficient balance`);
    putAccount(context.state, { ...account, balance: account.balance - fee });
    addTotals(context.state, { burned: fee });
  }
  return { usage: staked, fee, originUsage, total: vm.energyUsed, penalty: vm.penalty };
}

/** The checks of a deployment that need no execution. */
function checkDeployment(context: Context, tx: Tx): void {
  const contract = sub(tx.body, 'new_contract');
  if (contract === undefined) throw validateError('Cannot get CreateSmartContract from transaction');
  if (text(contract, 'origin_address') !== tx.owner) throw validateError('OwnerAddress is not equals OriginAddress');
  if (Buffer.byteLength(text(contract, 'name'), 'utf8') > 32)
    throw validateError("contractName's length cannot be greater than 32");
  const percent = int(contract, 'consume_user_resource_percent');
  if (percent < 0n || percent > 100n) throw validateError('percent must be >= 0 and <= 100');
  checkFeeLimit(context, tx);
  if (int(contract, 'call_value') < 0n) throw validateError('callValue must be >= 0');
  if (int(contract, 'origin_energy_limit') <= 0n) throw validateError('The originEnergyLimit must be > 0');
}

export async function deployContract(context: Context, tx: Tx, block: BlockInfo): Promise<VmOutcome> {
  checkDeployment(context, tx);
  const made = sub(tx.body, 'new_contract') ?? {};
  const address = deployedAddress(tx.id, tx.owner);
  if (accountAt(context.state, address) !== undefined)
    throw validateError(`Trying to create a contract with existing contract address: ${address}`);
  const caller = accountAt(context.state, tx.owner);
  if (caller === undefined || !isAddress(tx.owner))
    throw validateError('Validate InternalTransfer error, no OwnerAccount.');
  const value = int(made, 'call_value');
  const left = usableEnergy(context.state, caller, context.slot);
  const energyLimit = accountEnergy(context, caller, int(tx.data, 'fee_limit'), value);
  checkValue(context, tx.owner, address, value);
  const data = Buffer.from(text(made, 'bytecode'), 'hex');
  const call = { caller: tx.owner, contract: address, isCreate: true, data, value, energyLimit, txId: tx.id };
  const vm = await runVm(vmRequest(context, block, call));
  if (vm.result === 'SUCCESS') keepDeployment(context, tx, address, vm, block);
  const bill = payEnergy(context, tx.owner, vm, vm.energyUsed, 0n, left);
  return { vm, bill, contract: address, output: vm.output };
}

function keepDeployment(context: Context, tx: Tx, address: string, vm: VmResult, block: BlockInfo): void {
  keep(context.state, vm, block.cycle, tx.id);
  const made = sub(tx.body, 'new_contract') ?? {};
  const code = codeAt(context.state, address) ?? new Uint8Array();
  const account = accountAt(context.state, address);
  if (account !== undefined) putAccount(context.state, { ...account, name: text(made, 'name') });
  putContract(context.state, {
    address,
    origin: tx.owner,
    name: text(made, 'name'),
    abi: sub(made, 'abi') ?? {},
    bytecode: text(made, 'bytecode'),
    userPercent: int(made, 'consume_user_resource_percent'),
    originEnergyLimit: int(made, 'origin_energy_limit'),
    codeHash: Buffer.from(keccak256(code)).toString('hex'),
    trxHash: '',
    version: vmRulesAt(context.state).compatibleEvm ? 1 : 0,
  });
}
