// Endpoints that check an operation on the pending state and return an unsigned transaction for it. TRON: *Servlet.java
// with Wallet.createTransactionCapsule.
import { validateError } from './errors.js';
import { ACTUATORS } from './execute.js';
import { looseAddress, looseHex, mergeJson, notHex } from './json-format.js';
import { type Json, type JsonNode, integerOf, member, readJson, textOf } from './json.js';
import type { Request } from './http.js';
import type { NodeView } from './node-view.js';
import type { Message, Value } from './schema.js';
import { type Tx, buildTx, printTx } from './transactions.js';

const EXPIRES_MS = 60_000n;

/** Endpoint → contract type, for endpoints that map their body one to one. */
export const BUILDERS: Readonly<Record<string, string>> = {
  createtransaction: 'TransferContract',
  transferasset: 'TransferAssetContract',
  createaccount: 'AccountCreateContract',
  accountpermissionupdate: 'AccountPermissionUpdateContract',
  freezebalancev2: 'FreezeBalanceV2Contract',
  unfreezebalancev2: 'UnfreezeBalanceV2Contract',
  withdrawexpireunfreeze: 'WithdrawExpireUnfreezeContract',
  cancelallunfreezev2: 'CancelAllUnfreezeV2Contract',
  delegateresource: 'DelegateResourceContract',
  undelegateresource: 'UnDelegateResourceContract',
  votewitnessaccount: 'VoteWitnessContract',
  withdrawbalance: 'WithdrawBalanceContract',
  updateBrokerage: 'UpdateBrokerageContract',
  updatesetting: 'UpdateSettingContract',
  updateenergylimit: 'UpdateEnergyLimitContract',
};

/**
 * Returns the common fields of a built transaction: the solid block as reference, expiry 60 s after the head, and the
 * node's clock.
 */
export function stamped(view: NodeView, extra: Readonly<Record<string, Value>>): Record<string, Value> {
  const { solid, head } = view;
  return {
    ref_block_bytes: (solid.number & 0xffff).toString(16).padStart(4, '0'),
    ref_block_hash: solid.id.slice(16, 32),
    expiration: BigInt(head.timeMs) + EXPIRES_MS,
    timestamp: BigInt(view.chain.options.now()),
    ...extra,
  };
}

function permissionIdOf(body: JsonNode): number {
  const id = Number(integerOf(member(body, 'Permission_id')) ?? 0n);
  return id > 0 ? id : 0;
}

/** `extra_data`: text if visible, otherwise hex. */
function memoOf(request: Request): string {
  const memo = textOf(member(request.body, 'extra_data')) ?? '';
  return request.visible ? Buffer.from(memo, 'utf8').toString('hex') : memo.replace(/^0x/, '');
}

/** Builds a system transaction after its actuator's check. Throws NodeError with the actuator's message. */
export function buildSystem(view: NodeView, type: string, request: Request): Json {
  const body = mergeJson(type, request.body, request.source, request.visible);
  ACTUATORS[type]?.check(view.read(false, true), body);
  const data = memoOf(request);
  const tx = buildTx(type, body, permissionIdOf(request.body), stamped(view, data === '' ? {} : { data }));
  return printTx(tx, request.visible);
}

function hexField(node: JsonNode | undefined): string {
  const hex = looseHex(textOf(node) ?? '');
  if (hex === null) throw notHex();
  return hex;
}

/** wallet/deploycontract. TRON: only the percentage is checked before the broadcast. */
export function buildDeployment(view: NodeView, request: Request): Json {
  const { body, visible } = request;
  const owner = looseAddress(body, 'owner_address', visible) ?? '';
  const long = (name: string): bigint => integerOf(member(body, name)) ?? 0n;
  const percent = long('consume_user_resource_percent');
  if (percent < 0n || percent > 100n) throw validateError('percent must be >= 0 and <= 100');
  const made: Message = {
    origin_address: owner,
    abi: abiOf(textOf(member(body, 'abi'))),
    bytecode: hexField(member(body, 'bytecode')) + hexField(member(body, 'parameter')),
    call_value: long('call_value'),
    consume_user_resource_percent: percent,
    name: textOf(member(body, 'name')) ?? '',
    origin_energy_limit: long('origin_energy_limit'),
  };
  const message: Message = { owner_address: owner, new_contract: made };
  const fields = stamped(view, { fee_limit: long('fee_limit') });
  return printTx(buildTx('CreateSmartContract', message, permissionIdOf(body), fields), visible);
}

/** Parses an ABI as sent to deploycontract: JSON text of its list, or of {"entrys": list}. */
function abiOf(source: string | undefined): Message {
  if (source === undefined || source === '') return {};
  const node = readJson(source);
  const wrapped: JsonNode =
    node.kind === 'array' ? { kind: 'object', at: 0, raw: source, fields: new Map([['entrys', node]]) } : node;
  return mergeJson('ABI', wrapped, source, false);
}

/** Builds an unsigned contract call. */
export function triggerTx(view: NodeView, request: Request, message: Message): Tx {
  const feeLimit = integerOf(member(request.body, 'fee_limit')) ?? 0n;
  const fields = stamped(view, feeLimit === 0n ? {} : { fee_limit: feeLimit });
  return buildTx('TriggerSmartContract', message, permissionIdOf(request.body), fields);
}
