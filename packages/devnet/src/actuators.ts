// System contracts other than staking: transfer, account creation, permissions, contract settings. Each one first
// checks (with java-tron's messages in java-tron's order), then acts. TRON: actuator/*Actuator.java.
import { type Account, type Permission, AVAILABLE_OPERATIONS, accountAt, newAccount, putAccount } from './accounts.js';
import { isAddress } from './address.js';
import { contractAt, putContract } from './contract-store.js';
import { validateError } from './errors.js';
import { type Context, burn } from './fees.js';
import { parameter } from './parameters.js';
import type { Message } from './schema.js';
import { int, list, num, sub, text } from './fields.js';
import { vmRulesAt } from './vm-rules.js';

const LONG_MAX = (1n << 63n) - 1n;

/** Fields that only some transactions' info has: amounts in sun, one of them by resource. */
export type Extra = Readonly<Record<string, bigint | readonly { readonly key: string; readonly value: bigint }[]>>;
/** Result of an actuator: its own fee and extra fields of the transaction info. */
export interface Outcome {
  readonly fee: bigint;
  readonly extra?: Extra;
}
/** One system contract. `check` throws a validate error; `act` changes the state after a passed check. */
export interface Actuator {
  check(context: Context, message: Message): void;
  act(context: Context, message: Message): Outcome;
}

export function missingAccount(address: string): Error {
  return validateError(`Account[${address}] not exists`);
}

/** Returns the fee for an account created by a transfer, sun. */
export function creationFee(context: Context): bigint {
  return parameter(context.state, 'getCreateNewAccountFeeInSystemContract');
}

/** TRON: TransferActuator, once the compatible-EVM rules are on. */
function checkContractVersion(context: Context, payee: Account | undefined): void {
  if (payee?.isContract !== true || !vmRulesAt(context.state).compatibleEvm) return;
  const contract = contractAt(context.state, payee.address);
  if (contract === undefined) throw validateError('Account type is Contract, but it is not exist in contract store.');
  if (contract.version === 1)
    throw validateError(
      'Cannot transfer TRX to a smartContract which version is one. Instead please use TriggerSmartContract ',
    );
}

export const transfer: Actuator = {
  check(context, message) {
    const owner = text(message, 'owner_address');
    const to = text(message, 'to_address');
    const amount = int(message, 'amount');
    if (!isAddress(owner)) throw validateError('Invalid ownerAddress!');
    if (!isAddress(to)) throw validateError('Invalid toAddress!');
    if (owner === to) throw validateError('Cannot transfer TRX to yourself.');
    const payer = accountAt(context.state, owner);
    if (payer === undefined) throw validateError('Validate TransferContract error, no OwnerAccount.');
    if (amount <= 0n) throw validateError('Amount must be greater than 0.');
    const payee = accountAt(context.state, to);
    if (payee?.isContract === true && parameter(context.state, 'getForbidTransferToContract') === 1n)
      throw validateError('Cannot transfer TRX to a smartContract.');
    checkContractVersion(context, payee);
    const fee = payee === undefined ? creationFee(context) : 0n;
    if (payer.balance < amount + fee)
      throw validateError('Validate TransferContract error, balance is not sufficient.');
    if (payee !== undefined && payee.balance + amount > LONG_MAX) throw validateError('long overflow');
  },
  act(context, message) {
    const owner = text(message, 'owner_address');
    const to = text(message, 'to_address');
    const amount = int(message, 'amount');
    let fee = 0n;
    let payee = accountAt(context.state, to);
    if (payee === undefined) {
      payee = newAccount(to, 'normal', context.headMs);
      fee = creationFee(context);
    }
    burn(context, owner, fee);
    move(context, owner, payee, amount);
    return { fee };
  },
};

function move(context: Context, from: string, payee: Account, amount: bigint): void {
  const payer = accountAt(context.state, from);
  if (payer === undefined) throw missingAccount(from);
  putAccount(context.state, { ...payer, balance: payer.balance - amount });
  putAccount(context.state, { ...payee, balance: payee.balance + amount });
}

export const createAccount: Actuator = {
  check(context, message) {
    const owner = text(message, 'owner_address');
    const address = text(message, 'account_address');
    if (!isAddress(owner)) throw validateError('Invalid ownerAddress');
    const payer = accountAt(context.state, owner);
    if (payer === undefined) throw missingAccount(owner);
    if (payer.balance < creationFee(context))
      throw validateError('Validate CreateAccountActuator error, insufficient fee.');
    if (!isAddress(address)) throw validateError('Invalid account address');
    if (accountAt(context.state, address) !== undefined) throw validateError('Account has existed');
  },
  act(context, message) {
    const fee = creationFee(context);
    putAccount(context.state, newAccount(text(message, 'account_address'), 'normal', context.headMs));
    burn(context, text(message, 'owner_address'), fee);
    return { fee };
  },
};

const TYPE_NAMES = ['Owner', 'Witness', 'Active'] as const;
const KEYS_MAX = 5;
const ACTIVES_MAX = 8;

function checkKeys(type: string, message: Message): void {
  const keys = list(message, 'keys');
  const threshold = int(message, 'threshold');
  if (keys.length > KEYS_MAX)
    throw validateError(`number of keys in permission should not be greater than ${String(KEYS_MAX)}`);
  if (keys.length === 0) throw validateError("key's count should be greater than 0");
  if (type === 'Witness' && keys.length !== 1) throw validateError("Witness permission's key count should be 1");
  if (threshold <= 0n) throw validateError("permission's threshold should be greater than 0");
  if (text(message, 'permission_name').length > 32) throw validateError("permission's name is too long");
  if (num(message, 'parent_id') !== 0) throw validateError("permission's parent should be owner");
  const addresses = new Set(keys.map((key) => text(key, 'address')));
  if (addresses.size !== keys.length) throw validateError(`address should be distinct in permission ${type}`);
  let weight = 0n;
  for (const key of keys) {
    if (!isAddress(text(key, 'address'))) throw validateError('key is not a validate address');
    if (int(key, 'weight') <= 0n) throw validateError("key's weight should be greater than 0");
    weight += int(key, 'weight');
    if (weight > LONG_MAX) throw validateError('long overflow');
  }
  if (weight < threshold)
    throw validateError(`sum of all key's weight should not be less than threshold in permission ${type}`);
}

function checkOperations(type: string, operations: string): void {
  if (type !== 'Active') {
    if (operations !== '') throw validateError(`${type} permission needn't operations`);
    return;
  }
  if (operations.length !== 64) throw validateError('operations size must 32');
  const wanted = Buffer.from(operations, 'hex');
  const available = Buffer.from(AVAILABLE_OPERATIONS, 'hex');
  for (let bit = 0; bit < 256; bit++) {
    const mask = 1 << (bit & 7);
    if (((wanted[bit >> 3] ?? 0) & mask) !== 0 && ((available[bit >> 3] ?? 0) & mask) === 0)
      throw validateError(`${String(bit)} isn't a validate ContractType`);
  }
}

function checkPermission(expected: number, message: Message): void {
  const type = TYPE_NAMES[expected] ?? 'Owner';
  checkKeys(type, message);
  checkOperations(type, text(message, 'operations'));
}

function permissionFrom(message: Message, type: 0 | 2, id: number): Permission {
  return {
    type,
    id,
    name: text(message, 'permission_name'),
    threshold: int(message, 'threshold'),
    operations: text(message, 'operations'),
    keys: list(message, 'keys').map((k) => ({ address: text(k, 'address'), weight: int(k, 'weight') })),
  };
}

export const updatePermissions: Actuator = {
  check(context, message) {
    const owner = text(message, 'owner_address');
    if (!isAddress(owner)) throw validateError('invalidate ownerAddress');
    if (accountAt(context.state, owner) === undefined) throw validateError('ownerAddress account does not exist');
    const ownerPermission = sub(message, 'owner');
    const actives = list(message, 'actives');
    if (ownerPermission === undefined) throw validateError('owner permission is missed');
    if (sub(message, 'witness') !== undefined)
      throw validateError("account isn't witness can't set witness permission");
    if (actives.length === 0) throw validateError('active permission is missed');
    if (actives.length > ACTIVES_MAX) throw validateError('active permission is too many');
    if (num(ownerPermission, 'type') !== 0) throw validateError('owner permission type is error');
    checkPermission(0, ownerPermission);
    for (const active of actives) {
      if (num(active, 'type') !== 2) throw validateError('active permission type is error');
      checkPermission(2, active);
    }
  },
  act(context, message) {
    const address = text(message, 'owner_address');
    const fee = parameter(context.state, 'getUpdateAccountPermissionFee');
    const account = accountAt(context.state, address);
    const owner = sub(message, 'owner');
    if (account === undefined || owner === undefined) throw missingAccount(address);
    putAccount(context.state, {
      ...account,
      owner: permissionFrom(owner, 0, 0),
      actives: list(message, 'actives').map((active, i) => permissionFrom(active, 2, 2 + i)),
    });
    burn(context, address, fee);
    return { fee };
  },
};

function checkContractOwner(context: Context, message: Message): void {
  const owner = text(message, 'owner_address');
  if (!isAddress(owner)) throw validateError('Invalid address');
  if (accountAt(context.state, owner) === undefined) throw missingAccount(owner);
}

function checkOrigin(context: Context, message: Message): void {
  const contract = contractAt(context.state, text(message, 'contract_address'));
  if (contract === undefined) throw validateError('Contract does not exist');
  if (contract.origin !== text(message, 'owner_address'))
    throw validateError(`Account[${text(message, 'owner_address')}] is not the owner of the contract`);
}

export const updateSetting: Actuator = {
  check(context, message) {
    checkContractOwner(context, message);
    const percent = int(message, 'consume_user_resource_percent');
    if (percent > 100n || percent < 0n) throw validateError('percent not in [0, 100]');
    checkOrigin(context, message);
  },
  act(context, message) {
    const contract = contractAt(context.state, text(message, 'contract_address'));
    if (contract !== undefined)
      putContract(context.state, { ...contract, userPercent: int(message, 'consume_user_resource_percent') });
    return { fee: 0n };
  },
};

export const updateEnergyLimit: Actuator = {
  check(context, message) {
    checkContractOwner(context, message);
    if (int(message, 'origin_energy_limit') <= 0n) throw validateError('origin energy limit must be > 0');
    checkOrigin(context, message);
  },
  act(context, message) {
    const contract = contractAt(context.state, text(message, 'contract_address'));
    if (contract !== undefined)
      putContract(context.state, { ...contract, originEnergyLimit: int(message, 'origin_energy_limit') });
    return { fee: 0n };
  },
};
