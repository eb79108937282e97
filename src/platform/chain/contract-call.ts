/**
 * Reads the outcome of an unsigned contract call from triggerconstantcontract's answer. TRON: a revert still has
 * `result.result: true`. Only `transaction.ret[0].ret` shows it. VM exceptions come as OTHER_ERROR.
 */
import type { EventLog } from '../../domain/sizing.js';
import { energy, type Energy } from '../../domain/units.js';
import { NO_CONSTANT_CALLS, NodeError } from './errors.js';
import { int64, isJsonObject, objectsOf, type JsonObject } from './json.js';

export interface ContractCall {
  readonly ownerAddress: string;
  readonly contractAddress: string;
  readonly functionSelector?: string;
  /** ABI-encoded arguments, hex without 0x. */
  readonly parameter?: string;
  /** Raw calldata, hex without 0x. */
  readonly data?: string;
  readonly callValue?: bigint;
}

export type CallOutcome =
  | {
      readonly kind: 'success';
      readonly energyUsed: Energy;
      readonly energyPenalty: Energy;
      readonly result: string;
      /** TRON: absent means none, so it is also empty where a node omits events. */
      readonly logs: readonly EventLog[];
    }
  | { readonly kind: 'reverted'; readonly energyUsed: Energy; readonly data: string }
  /** The VM stopped: `fault` is java-tron's exception, e.g. `IllegalOperationException`. */
  | { readonly kind: 'fault'; readonly fault: string }
  | {
      readonly kind: 'refused';
      readonly refusal: 'no-contract' | 'no-owner' | 'balance' | 'timeout' | 'other';
      readonly message: string;
    };

const VM_EXCEPTION = /org\.tron\.core\.vm\.program\.Program\$(\w+)/;
const HEX = /^(?:[0-9a-fA-F]{2})*$/;
/** More than the whole network's energy, which is 180 billion a day. */
const ENERGY_MAX = 10n ** 12n;

function readRefusal(message: string): CallOutcome {
  const exception = VM_EXCEPTION.exec(message)?.[1];
  if (exception === 'OutOfTimeException') return { kind: 'refused', refusal: 'timeout', message };
  if (exception !== undefined) return { kind: 'fault', fault: exception };
  if (/CPU timeout/i.test(message)) return { kind: 'refused', refusal: 'timeout', message };
  if (/contract is not exist/i.test(message)) return { kind: 'refused', refusal: 'no-contract', message };
  if (/no OwnerAccount/i.test(message)) return { kind: 'refused', refusal: 'no-owner', message };
  if (/balance is not sufficient/i.test(message)) return { kind: 'refused', refusal: 'balance', message };
  return { kind: 'refused', refusal: 'other', message };
}

/** Reads the answer to a request with `visible: true`. Throws NodeError when it is no answer to a constant call. */
export function readCallOutcome(node: string, json: JsonObject): CallOutcome {
  const result = json['result'];
  if (!isJsonObject(result)) throw new NodeError(node, 'nonsense', 'a call without a result');
  const code = result['code'];
  const message = typeof result['message'] === 'string' ? result['message'] : '';
  if (typeof code === 'string' && code !== 'SUCCESS') {
    // TRON (java-tron): this text means that vm.supportConstant is off. It says nothing about the call; another node
    // may run it.
    if (/not support constant/i.test(message)) throw new NodeError(node, 'refused', NO_CONSTANT_CALLS);
    return readRefusal(message);
  }
  const used = int64(json['energy_used']);
  const penalty = int64(json['energy_penalty']);
  const transaction = json['transaction'];
  const results = json['constant_result'];
  if (used === undefined || penalty === undefined || !isJsonObject(transaction) || result['result'] !== true) {
    throw new NodeError(node, 'nonsense', 'a call result without its figures');
  }
  if (penalty < 0n || penalty > used || used > ENERGY_MAX) {
    throw new NodeError(node, 'nonsense', 'a call result with figures that cannot be');
  }
  const first: unknown = Array.isArray(results) ? (results[0] ?? '') : '';
  if (typeof first !== 'string' || !HEX.test(first)) throw new NodeError(node, 'nonsense', 'a call result not in hex');
  const ret = objectsOf(transaction['ret'])[0]?.['ret'];
  if (ret !== undefined && ret !== 'SUCESS' && ret !== 'SUCCESS') {
    return { kind: 'reverted', energyUsed: energy(used), data: first };
  }
  const logs = readLogs(json['logs']);
  return { kind: 'success', energyUsed: energy(used), energyPenalty: energy(penalty), result: first, logs };
}

/** Returns the readable events. A third party's contract wrote them, so malformed ones are skipped. */
function readLogs(list: unknown): EventLog[] {
  return objectsOf(list).flatMap(({ topics, data }) => {
    const words: readonly unknown[] = Array.isArray(topics) ? topics : [];
    if (!words.every((topic) => typeof topic === 'string')) return [];
    return [{ topics: words, data: typeof data === 'string' ? data : '' }];
  });
}
