/**
 * A block of one node with what its transactions moved: the block and its receipts, matched one to one by id. The
 * block's id vouches for neither, so that what counts is what two nodes say alike (agreement.ts).
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
  /** Who made it, where it is of a type that moves something, or that our wallets make. */
  readonly owner: string | undefined;
  /** Whoever called a contract by it, as hex of 21 bytes. */
  readonly caller: string | undefined;
  /** What it burnt of its owner's TRX, in sun. */
  readonly feeSun: bigint;
}

export interface ExecutedBlock extends BlockHeader {
  readonly transactions: readonly ExecutedTransaction[];
  /** Whether a receipt has internal transactions: a node may keep none (java-tron: vm.saveInternalTx). */
  readonly hasInternal: boolean;
}

/**
 * The block at a height of `node`'s solid chain, or of its newest one, and what moved in it. Throws NodeError for
 * everything but a block whose every transaction has its receipt: an answer that is empty or short is never an empty
 * block.
 */
export async function executedBlockOf(
  node: TronNode,
  number: number,
  port: PortName = 'solid',
): Promise<ExecutedBlock> {
  return execute(node, await givenBlockOf(node, number, port), port);
}

/** The block at a height as `node` has it, with all its bytes. Throws NodeError, also where its chain is not that high. */
export async function givenBlockOf(node: TronNode, number: number, port: PortName): Promise<GivenBlock> {
  const json = await node.blocks.json(port, 'getblockbynum', number);
  if (!isJsonObject(json) || Object.keys(json).length === 0) {
    throw new NodeError(node.name, 'unhealthy', `has no ${port} block ${number.toString()}`);
  }
  const given = readGivenBlock(node.name, json);
  if (given.block.number !== number) throw new NodeError(node.name, 'nonsense', 'another block than was asked for');
  return given;
}

/** What moved in a block that `node` gave, by its receipts there. Throws NodeError as above. */
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
  // Every receipt has found its transaction, and every transaction its own receipt.
  if (receipts.size > 0)
    throw new NodeError(node.name, 'nonsense', 'receipts of transactions that are not in the block');
  return { ...header, transactions, hasInternal };
}

function receiptsById(node: string, header: BlockHeader, infos: unknown): Map<string, JsonObject> {
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
  const feeSun = receipt['fee'] === undefined ? 0n : int64(receipt['fee']);
  if (feeSun === undefined || feeSun < 0n) throw new NodeError(node.name, 'nonsense', `a receipt with another fee`);
  const { caller } = read;
  if (!isInexact) return { txid, owner, caller, feeSun, transfers };
  // More than 2^53 sun in one internal transaction: answers about one transaction are read digit by digit.
  const exact = await (port === 'solid'
    ? node.solid('walletsolidity/gettransactioninfobyid', { value: txid })
    : node.full('wallet/gettransactioninfobyid', { value: txid }));
  if (exact['id'] !== txid) throw new NodeError(node.name, 'nonsense', 'information on another transaction');
  return { txid, owner, caller, feeSun, transfers: transfersOf(rawData, result, exact).transfers };
}
