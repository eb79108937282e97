/** The doctor's checks that orders can be priced and sized from the nodes' answers. */
import { CONSTANT_CALL_PATH, type TronClient } from '../../platform/chain/tron.client.js';
import { ChainUnavailableError, NodeError } from '../../platform/chain/errors.js';
import type { Config } from '../../platform/config/config.js';
import { messageOf } from '../../domain/errors.js';
import { fault, ok, warning, type DoctorFinding } from './doctor-finding.js';

/** TRON: java-tron's answer to calls if vm.supportConstant is false. */
const NO_CONSTANT_CALLS = /support constant/i;

/** Checks the chain's fees against their bounds. Outside them nothing is sold, and the finding names the parameter. */
export async function checkFees(tron: TronClient, { market }: Config): Promise<DoctorFinding[]> {
  try {
    await tron.chainParameters(market.parameterBounds);
    return [ok('fees', 'The fees of the chain are within their bounds.')];
  } catch (error) {
    if (!(error instanceof ChainUnavailableError)) throw error;
    if (!hasAnswer(error)) return [warning('fees', `The check failed: ${reasonOf(error)}.`, 'Fix the nodes first.')];
    const todo =
      'Look up the fee. If the committee has changed it, set new bounds: ENERGY_FEE_BOUNDS_SUN, TRANSACTION_FEE_BOUNDS_SUN, CREATE_ACCOUNT_FEE_BOUNDS_SUN or SYSTEM_CONTRACT_FEE_BOUNDS_SUN.';
    return [fault('fees', `Sales are stopped: ${reasonOf(error)}.`, todo)];
  }
}

/** Sends each node a constant call, which sizing and simulations need. */
export async function checkCalls({ pool }: TronClient, { chain }: Config): Promise<DoctorFinding[]> {
  const asked = { owner_address: chain.tokenContract, contract_address: chain.tokenContract, visible: true };
  const body = { ...asked, function_selector: 'decimals()' };
  return Promise.all(
    pool.nodes.map(async (node) => {
      const check = `calls ${node.name}`;
      try {
        const says = JSON.stringify(await node.postFull(CONSTANT_CALL_PATH, body));
        const text = `${says} ${fromHex(says)}`;
        if (NO_CONSTANT_CALLS.test(text)) return closed(check);
        // TRON: a call beyond the time limit of constant calls.
        return text.includes('OutOfTimeException') ? tooSlow(check) : ok(check, 'It runs constant calls.');
      } catch (error) {
        if (NO_CONSTANT_CALLS.test(messageOf(error))) return closed(check);
        return warning(check, `The check failed: ${messageOf(error)}.`, 'Fix the nodes first.');
      }
    }),
  );
}

function closed(check: string): DoctorFinding {
  const todo =
    'Set vm.supportConstant = true in its configuration. Until then, orders are sized by another node or by estimates.';
  return fault(check, 'It runs no constant calls (vm.supportConstant is false).', todo);
}

function tooSlow(check: string): DoctorFinding {
  const todo =
    'Give its machine more CPU, or raise vm.constantCallTimeoutMs (java-tron 4.8.2). Until then, orders are sized by another node or by estimates.';
  return warning(check, 'A small constant call ran out of time.', todo);
}

/** TRON: messages of calls are hex. */
function fromHex(json: string): string {
  const [, hex = ''] = /"message":"([0-9a-f]+)"/.exec(json) ?? [];
  return Buffer.from(hex, 'hex').toString('utf8');
}

/** Returns true if a node answered with fees that are not believed, or nodes contradict each other. */
function hasAnswer({ cause }: ChainUnavailableError): boolean {
  const faults: readonly unknown[] = cause instanceof AggregateError ? cause.errors : [];
  return faults.some((each) => !(each instanceof NodeError) || each.kind === 'nonsense');
}

function reasonOf(error: ChainUnavailableError): string {
  return error.cause instanceof AggregateError && error.cause.message !== '' ? error.cause.message : error.message;
}
