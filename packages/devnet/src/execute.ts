// Executes one transaction on a state: bandwidth, fees, contract and receipt. Atomic: the caller commits the overlay
// only when this returns. TRON: Manager.processTransaction.
import { accountAt } from './accounts.js';
import {
  type Actuator,
  type Extra,
  createAccount,
  transfer,
  updateEnergyLimit,
  updatePermissions,
  updateSetting,
} from './actuators.js';
import { transferAsset } from './assets.js';
import { BroadcastError, NodeError, VALIDATE_CLASS } from './errors.js';
import type { Log } from './evm.js';
import { type Bill, type Context, chargeBandwidth, chargeExtras } from './fees.js';
import { text } from './fields.js';
import type { InternalTransaction } from './internal-transactions.js';
import { delegate, undelegate } from './delegating.js';
import { cancelUnfreezing, freeze, unfreeze, withdrawUnfrozen } from './staking.js';
import { isOfItsType, type Tx } from './transactions.js';
import { type BlockInfo, type VmOutcome, deployContract, triggerContract } from './vm-transactions.js';
import { updateBrokerage, vote, withdrawReward } from './voting.js';

export const ACTUATORS: Readonly<Record<string, Actuator>> = {
  TransferContract: transfer,
  TransferAssetContract: transferAsset,
  AccountCreateContract: createAccount,
  AccountPermissionUpdateContract: updatePermissions,
  UpdateSettingContract: updateSetting,
  UpdateEnergyLimitContract: updateEnergyLimit,
  FreezeBalanceV2Contract: freeze,
  UnfreezeBalanceV2Contract: unfreeze,
  WithdrawExpireUnfreezeContract: withdrawUnfrozen,
  CancelAllUnfreezeV2Contract: cancelUnfreezing,
  DelegateResourceContract: delegate,
  UnDelegateResourceContract: undelegate,
  VoteWitnessContract: vote,
  WithdrawBalanceContract: withdrawReward,
  UpdateBrokerageContract: updateBrokerage,
};

/** Effects of a transaction, stored for gettransactioninfobyid. */
export interface Receipt {
  /** SUCCESS, or the code of a contract's failure: the value of `ret`. */
  readonly contractRet: string;
  readonly fee: bigint;
  readonly netUsage: bigint;
  readonly netFee: bigint;
  readonly energy?: VmOutcome['bill'];
  readonly contract?: string;
  readonly output: string;
  readonly resMessage: string;
  readonly logs: readonly Log[];
  readonly internal: readonly InternalTransaction[];
  readonly extra: Extra;
}

const RESULT_BYTES_MAX = 64n;

function createsAccount(context: Context, tx: Tx): boolean {
  if (tx.type === 'AccountCreateContract') return true;
  const isTransfer = tx.type === 'TransferContract' || tx.type === 'TransferAssetContract';
  return isTransfer && accountAt(context.state, text(tx.body, 'to_address')) === undefined;
}

/** Converts an actuator's refusal into the error of broadcasttransaction. */
export function broadcastErrorOf(error: unknown): unknown {
  if (!(error instanceof NodeError)) return error;
  return error.javaClass === VALIDATE_CLASS
    ? new BroadcastError('CONTRACT_VALIDATE_ERROR', `Contract validate error : ${error.message}`)
    : new BroadcastError('CONTRACT_EXE_ERROR', `Contract execute error : ${error.message}`);
}

/** Executes `tx`. Throws BroadcastError (or a NodeError to convert) if it cannot be in a block. */
export async function execute(context: Context, tx: Tx, block: BlockInfo): Promise<Receipt> {
  if (!isOfItsType(tx)) throw new NodeError(VALIDATE_CLASS, `contract type error, expected type [${tx.type}]`);
  const bytes = BigInt(tx.size) + RESULT_BYTES_MAX;
  const signatures = tx.signatures.length;
  const bill = chargeBandwidth(context, tx.owner, { bytes, signatures, createsAccount: createsAccount(context, tx) });
  chargeExtras(context, tx.owner, bill, {
    signatures,
    hasMemo: text(tx.data, 'data') !== '',
  });
  if (tx.type === 'TriggerSmartContract') return vmReceipt(bill, await triggerContract(context, tx, block));
  if (tx.type === 'CreateSmartContract') return vmReceipt(bill, await deployContract(context, tx, block));
  const actuator = ACTUATORS[tx.type];
  if (actuator === undefined) throw new NodeError(VALIDATE_CLASS, `contract type ${tx.type} is not supported`);
  actuator.check(context, tx.body);
  const { fee, extra } = actuator.act(context, tx.body);
  return {
    contractRet: 'SUCCESS',
    fee: fee + feesOf(bill),
    netUsage: bill.netUsage,
    netFee: bill.netFee,
    output: '',
    resMessage: '',
    logs: [],
    internal: [],
    extra: extra ?? {},
  };
}

function feesOf(bill: Bill): bigint {
  return bill.netFee + bill.multiSignFee + bill.memoFee;
}

function vmReceipt(bill: Bill, outcome: VmOutcome): Receipt {
  const { vm } = outcome;
  const message = vm.result === 'REVERT' ? 'REVERT opcode executed' : (vm.halt?.message ?? '');
  return {
    contractRet: vm.result,
    fee: feesOf(bill) + outcome.bill.fee,
    netUsage: bill.netUsage,
    netFee: bill.netFee,
    energy: outcome.bill,
    contract: outcome.contract,
    output: vm.result === 'SUCCESS' || vm.result === 'REVERT' ? outcome.output : '',
    resMessage: Buffer.from(message, 'utf8').toString('hex'),
    logs: vm.logs,
    internal: vm.internal,
    extra: {},
  };
}
