/**
 * A block of one node with the transfers of its transactions: block and receipts, matched one to one by id. The block's
 * id covers neither results nor receipts, so a caller needs the same from two nodes (agreement.ts).
 */
import { readGivenBlock, type BlockHeader, type GivenBlock, type GivenTransaction } from './block.js';
import { NodeError } from './errors.js';
import { int64, isJsonObject, objectsOf, type JsonObject } from './json.js';
import type { PortName } from './node-blocks.js';
import type { TronNode } from './node.js';
import { transfersOf, type Transfer } from './transfers.js';

export interface ExecutedTransaction {
  readonly txid: string;
  readonly transfers: readonly Transfer[];
  /** The transaction's owner, for types that move value and types that our wallets make. */
  readonly owner: string | undefined;
  /** The caller of a contract, as hex of 21 bytes. */
  readonly caller: string | undefined;
  /** TRX that it burnt from its owner, in sun. */
  readonly feeSun: bigint;
  /** Energy that it took from its owner's stake and rentals. */
  readonly stakedEnergy: bigint;
}

export interface ExecutedBlock extends BlockHeader {
  readonly transactions: readonly ExecutedTransaction[];
  /** True if a receipt has internal transactions. A node may keep none (java-tron: vm.saveInternalTx). */
  readonly hasInternal: boolean;
}

/**
 * Returns the block at a height of `node`'s solid or newest chain, with its transfers. Throws NodeError unless every
 * transaction has its receipt: an empty or short answer never counts as an empty block.
 */
export async function executedBlockOf(
  node: TronNode,
  number: number,
  port: PortName = 'solid',
): Promise<ExecutedBlock> {
  return execute(node, await givenBlockOf(node, number, port), port);
}

/**
 * Returns the block at a height as `node` has it, with all its bytes. Throws NodeError, also when its chain is not that
 * high.
 */
export async function givenBlockOf(node: TronNode, number: number, port: PortName): Promise<GivenBlock> {
  const json = await node.blocks.json(port, 'getblockbynum', number);
  if (!isJsonObject(json) || Object.keys(json).length === 0) {
    throw new NodeError(node.name, 'unhealthy', `has no ${port} block ${number.toString()}`);
  }
  const given = readGivenBlock(node.name, json);
  if (given.block.number !== number) throw new NodeError(node.name, 'nonsense', 'another block than was asked for');
  return given;
}

/**
 * Returns the transfers of a block that `node` gave, by the node's receipts. Throws NodeError as `executedBlockOf`
 * does.
 */
export async function execute(node: TronNode, { block, given }: GivenBlock, port: PortName): Promise<ExecutedBlock> {
  const { number, id, parentId, timestampMs, isEmpty } = block;
  const header: BlockHeader = { number, id, parentId, timestampMs, isEmpty };
  if (header.isEmpty !== (given.length === 0)) {
    throw new NodeError(node.name, 'nonsense', 'a block whose header says otherwise of its transactions');
  }
  if (header.isEmpty) return { ...header, transactions: [], hasInternal: false };
  const receipts = receiptsById(
    node.name,
    header,
    await node.blocks.json(port, 'gettransactioninfobyblocknum', header.number),
  );
  const hasInternal = [...receipts.values()].some((info) => objectsOf(info['internal_transactions']).length > 0);
  const transactions: ExecutedTransaction[] = [];
  for (const transaction of given) transactions.push(await executed(node, port, transaction, receipts));
  // At this point every transaction has its receipt; a receipt left over belongs to no transaction.
  if (receipts.size > 0)
    throw new NodeError(node.name, 'nonsense', 'receipts of transactions that are not in the block');
  return { ...header, transactions, hasInternal };
}

/** Returns the burnt TRX of each transaction in a solid block, by id; empty if `node` has no receipts of it. */
export async function solidFeesOf(node: TronNode, number: number): Promise<ReadonlyMap<string, bigint>> {
  const infos = await node.blocks.json('solid', 'gettransactioninfobyblocknum', number);
  const receipts = receiptsById(node.name, { number }, infos);
  return new Map([...receipts].map(([txid, receipt]) => [txid, feeOf(node.name, receipt)]));
}

function receiptsById(node: string, header: Pick<BlockHeader, 'number'>, infos: unknown): Map<string, JsonObject> {
  if (!Array.isArray(infos)) throw new NodeError(node, 'nonsense', 'no list of receipts');
  const receipts = new Map<string, JsonObject>();
  for (const info of objectsOf(infos)) {
    const { id } = info;
    if (typeof id === 'string' && int64(info['blockNumber']) === BigInt(header.number)) receipts.set(id, info);
  }
  if (receipts.size !== infos.length) throw new NodeError(node, 'nonsense', 'receipts that are not of the block');
  return receipts;
}

async function executed(
  node: TronNode,
  port: PortName,
  { read, rawData, result }: GivenTransaction,
  receipts: Map<string, JsonObject>,
): Promise<ExecutedTransaction> {
  const { txid, signed } = read;
  const receipt = receipts.get(txid);
  if (receipt === undefined) throw new NodeError(node.name, 'nonsense', `no receipt of ${txid}`);
  receipts.delete(txid);
  const { owner: mover, transfers, isInexact } = transfersOf(rawData, result, receipt);
  const owner = mover ?? signed?.act.owner;
  const feeSun = feeOf(node.name, receipt);
  const stakedEnergy = stakedEnergyOf(receipt);
  if (stakedEnergy === undefined) throw new NodeError(node.name, 'nonsense', 'a receipt with another energy usage');
  const { caller } = read;
  const rest = { txid, owner, caller, feeSun, stakedEnergy };
  if (!isInexact) return { ...rest, transfers };
  // More than 2^53 sun in one internal transaction: the answer about a single transaction is parsed without rounding.
  const exact = await (port === 'solid'
    ? node.postSolid('walletsolidity/gettransactioninfobyid', { value: txid })
    : node.postFull('wallet/gettransactioninfobyid', { value: txid }));
  if (exact['id'] !== txid) throw new NodeError(node.name, 'nonsense', 'information on another transaction');
  return { ...rest, transfers: transfersOf(rawData, result, exact).transfers };
}

function feeOf(node: string, receipt: JsonObject): bigint {
  const feeSun = receipt['fee'] === undefined ? 0n : int64(receipt['fee']);
  if (feeSun === undefined || feeSun < 0n) throw new NodeError(node, 'nonsense', 'a receipt with another fee');
  return feeSun;
}

/** TRON: `ResourceReceipt.energy_usage`, absent for 0. Undefined for anything else than an amount. */
function stakedEnergyOf({ receipt }: JsonObject): bigint | undefined {
  const amount = int64(isJsonObject(receipt) ? receipt['energy_usage'] : undefined);
  return amount !== undefined && amount >= 0n ? amount : undefined;
}
