// Constant calls, energy estimates and unsigned contract calls. TRON: TriggerConstantContractServlet,
// EstimateEnergyServlet, TriggerSmartContractServlet, Wallet.callConstantContract.
import { accountAt } from './accounts.js';
import { keccak256 } from './address.js';
import { triggerTx } from './builders.js';
import { printInternal } from './chain-reads.js';
import { codeAt, contractAt, energyStateAt } from './contract-store.js';
import { NodeError, VALIDATE_CLASS, validateError } from './errors.js';
import { type VmResult, logAddress, runVm } from './evm.js';
import type { Context } from './fees.js';
import { int, text } from './fields.js';
import { type Request, javaClassOf } from './http.js';
import { mergeJson, notHex, printMessage } from './json-format.js';
import { type Json, member, textOf } from './json.js';
import type { NodeView } from './node-view.js';
import { parameter } from './parameters.js';
import { sparse } from './reads.js';
import type { Message } from './schema.js';
import { printTx } from './transactions.js';
import { checkValue, vmRequest } from './vm-transactions.js';

const CONSTANT_ENERGY = 100_000_000n;
const SUN_PER_TRX = 1_000_000n;

/**
 * Returns the call that a body describes. A selector overrides data; an odd-length parameter shifts the whole by a
 * nibble. Only a constant call may omit the contract: it then simulates a deployment of `data`.
 */
function callOf(request: Request, isConstant: boolean): Message {
  const { body, source, visible } = request;
  const invalid = (what: string): Error => new NodeError('java.security.InvalidParameterException', what);
  if ((textOf(member(body, 'owner_address')) ?? '') === '') throw invalid("owner_address isn't set.");
  const hasContract = (textOf(member(body, 'contract_address')) ?? '') !== '';
  const hasData = (textOf(member(body, 'data')) ?? '') !== '';
  if (!hasContract && !isConstant) throw invalid("contract_address isn't set.");
  if (!hasContract && !hasData) throw invalid('At least one of contract_address and data must be set.');
  const message = mergeJson('TriggerSmartContract', body, source, visible);
  const selector = textOf(member(body, 'function_selector')) ?? '';
  if (selector === '') return message;
  const hash = Buffer.from(keccak256(Buffer.from(selector, 'utf8')))
    .toString('hex')
    .slice(0, 8);
  const whole = hash + (textOf(member(body, 'parameter')) ?? '');
  const data = whole.length % 2 === 0 ? whole : `0${whole}`;
  if (!/^[0-9a-fA-F]*$/.test(data)) throw notHex();
  return { ...message, data: data.toLowerCase() };
}

/** Runs a call on the state visible at the port and discards its changes. Throws NodeError if it cannot run. */
export async function runConstant(
  view: NodeView,
  context: Context,
  isSolid: boolean,
  message: Message,
  txId: string,
): Promise<VmResult> {
  const contract = text(message, 'contract_address');
  const isCreate = contract === '';
  if (!isCreate && contractAt(context.state, contract) === undefined)
    throw validateError('Smart contract is not exist.');
  const caller = text(message, 'owner_address');
  const value = int(message, 'call_value');
  if (value < 0n) throw validateError('callValue must be >= 0');
  const target = isCreate ? '41' + '00'.repeat(20) : contract;
  checkValue(context, caller, target, value);
  const data = Buffer.from(text(message, 'data'), 'hex');
  const call = { caller, contract: target, isCreate, data, value, energyLimit: CONSTANT_ENERGY, txId };
  const block = view.chain.infoOf(context.state, view.top(isSolid));
  const { constantCallMs } = view.settings;
  const result = await runVm(vmRequest(context, block, call, constantCallMs > 0 ? BigInt(constantCallMs) : undefined));
  if (result.halt === undefined) return result;
  throw new NodeError(`org.tron.core.vm.program.${result.halt.exception}`, result.halt.message);
}

/** The `result` of an answer that failed before or in the VM. */
function failureOf(error: unknown, visible: boolean): Json {
  const isValidation = error instanceof NodeError && error.javaClass === VALIDATE_CLASS;
  // TRON: the servlet replaces double quotes of the message with single ones.
  const message = (error instanceof Error ? error.message : String(error)).replaceAll('"', "'");
  const text = isValidation ? message : `class ${javaClassOf(error)} : ${message}`;
  return {
    code: isValidation ? 'CONTRACT_VALIDATE_ERROR' : 'OTHER_ERROR',
    message: visible ? text : Buffer.from(text, 'utf8').toString('hex'),
  };
}

const REVERTED = 'REVERT opcode executed';

function spoken(message: string, visible: boolean): string {
  return visible ? message : Buffer.from(message, 'utf8').toString('hex');
}

/** wallet/triggerconstantcontract, on either port. */
export async function triggerConstant(view: NodeView, isSolid: boolean, request: Request): Promise<Json> {
  const { visible } = request;
  try {
    const message = callOf(request, true);
    return await constantAnswer(view, view.read(isSolid), isSolid, request, message);
  } catch (error) {
    return { result: failureOf(error, visible) };
  }
}

/**
 * Runs a call as the transaction that the answer shows: its internal transactions and creations derive from that id.
 */
async function constantAnswer(
  view: NodeView,
  context: Context,
  isSolid: boolean,
  request: Request,
  message: Message,
): Promise<Json> {
  const { visible } = request;
  const tx = triggerTx(view, request, message);
  const vm = await runConstant(view, context, isSolid, message, tx.id);
  const isReverted = vm.result === 'REVERT';
  return {
    result: { result: true, ...(isReverted ? { message: spoken(REVERTED, visible) } : {}) },
    ...sparse({ energy_used: vm.energyUsed, energy_penalty: vm.penalty }),
    constant_result: [vm.output],
    ...sparse({
      logs: vm.logs.map((l) => sparse({ address: logAddress(l.address, visible), data: l.data, topics: l.topics })),
      internal_transactions: printInternal(vm.internal, visible),
    }),
    transaction: { ret: [isReverted ? { ret: 'FAILED' } : {}], ...printTx(tx, visible) },
  };
}

/** wallet/estimateenergy: the lowest successful fee limit, in steps of 1 TRX. */
export async function estimateEnergy(view: NodeView, isSolid: boolean, request: Request): Promise<Json> {
  const { visible } = request;
  try {
    const message = callOf(request, true);
    const context = view.read(isSolid);
    const vm = await runConstant(view, context, isSolid, message, triggerTx(view, request, message).id);
    if (vm.result === 'REVERT') return { result: { code: 'CONTRACT_EXE_ERROR', message: spoken(REVERTED, visible) } };
    return { result: { result: true }, energy_required: requiredEnergy(context, vm.energyUsed) };
  } catch (error) {
    return { result: failureOf(error, visible) };
  }
}

/**
 * Follows java-tron's binary search over fee limits with a precision of 1 TRX. It starts at no more than three times
 * the used energy. TRON, measured: 27 841 used gives 34 802.
 */
function requiredEnergy(context: Context, used: bigint): bigint {
  const price = parameter(context.state, 'getEnergyFee') || 100n;
  const low = used * price;
  let high = parameter(context.state, 'getMaxFeeLimit');
  while (low + SUN_PER_TRX < high) {
    const middle = (low + high) / 2n;
    high = middle > low * 3n ? low * 3n : middle;
    if (low === 0n) break;
  }
  return (high + price - 1n) / price;
}

/**
 * wallet/triggersmartcontract: runs a view function immediately, and returns an unsigned transaction for anything else.
 */
export async function triggerSmart(view: NodeView, request: Request): Promise<Json> {
  const { visible } = request;
  try {
    const message = callOf(request, false);
    const context = view.read(false, true);
    const contract = contractAt(context.state, text(message, 'contract_address'));
    if (contract === undefined) throw validateError('No contract or not a valid smart contract');
    if (isConstantFunction(contract.abi, text(message, 'data')))
      return await constantAnswer(view, context, false, request, message);
    return { result: { result: true }, transaction: printTx(triggerTx(view, request, message), visible) };
  } catch (error) {
    return { result: failureOf(error, visible) };
  }
}

function isConstantFunction(abi: Message, data: string): boolean {
  const entries = abi['entrys'];
  if (!Array.isArray(entries) || data.length < 8) return false;
  return (entries as readonly Message[]).some((entry) => {
    const mutability = entry['stateMutability'];
    const isView = mutability === 1 || mutability === 2 || entry['constant'] === true;
    if (entry['type'] !== 2 || !isView) return false;
    const inputs = (entry['inputs'] ?? []) as readonly Message[];
    const signature = `${text(entry, 'name')}(${inputs.map((i) => text(i, 'type')).join(',')})`;
    return (
      Buffer.from(keccak256(Buffer.from(signature)))
        .toString('hex')
        .slice(0, 8) === data.slice(0, 8)
    );
  });
}

/** wallet/getcontract */
export function printContract(context: Context, address: string | undefined, visible: boolean): Json {
  const contract = address === undefined ? undefined : contractAt(context.state, address);
  if (contract === undefined) return {};
  return printMessage(
    'SmartContract',
    {
      origin_address: contract.origin,
      contract_address: contract.address,
      abi: contract.abi,
      bytecode: contract.bytecode,
      consume_user_resource_percent: contract.userPercent,
      name: contract.name,
      origin_energy_limit: contract.originEnergyLimit,
      code_hash: contract.codeHash,
      trx_hash: contract.trxHash,
      version: contract.version ?? 0,
    },
    visible,
  );
}

/** wallet/getcontractinfo: the runtime code and the dynamic-energy state. */
export function printContractInfo(
  context: Context,
  address: string | undefined,
  cycle: bigint,
  visible: boolean,
): Json {
  const smart = printContract(context, address, visible);
  if (
    address === undefined ||
    accountAt(context.state, address) === undefined ||
    codeAt(context.state, address) === undefined
  )
    return {};
  const energy = energyStateAt(context.state, address, cycle);
  return {
    smart_contract: smart,
    runtimecode: Buffer.from(codeAt(context.state, address) ?? []).toString('hex'),
    contract_state: sparse({ energy_usage: energy.used, energy_factor: energy.factor, update_cycle: energy.cycle }),
  };
}
