// Read endpoints for blocks and transactions, at a node's head or its solid block.
import type { Block } from './block.js';
import type { Included } from './chain.js';
import type { Receipt } from './execute.js';
import { TRANSFER_NOTES } from './internal-transactions.js';
import type { Json } from './json.js';
import type { NodeView } from './node-view.js';
import { versionAt } from './parameters.js';
import { printAddress, sparse } from './reads.js';
import { type Tx, printTx, unpackTx } from './transactions.js';

export const BLOCKS_PER_ANSWER = 100;

/** Prints a block as the node does, with or without its transactions. */
export function printBlock(view: NodeView, block: Block, withTransactions: boolean, visible: boolean): Json {
  const raw = sparse({
    number: BigInt(block.number),
    txTrieRoot: block.txRoot,
    witness_address: block.witness === '' ? '' : printAddress(block.witness, visible),
    parentHash: block.parent,
    version: block.number === 0 ? 0 : block.version,
    timestamp: BigInt(block.timeMs),
  });
  const header = sparse({ raw_data: raw, witness_signature: block.signature });
  if (!withTransactions || block.txIds.length === 0) return sparse({ blockID: block.id, block_header: header });
  const transactions = view.printedOnce(`${block.id} ${String(visible)}`, () =>
    block.txIds.flatMap((id) => printIncluded(view, id, visible)),
  );
  return { ...sparse({ blockID: block.id, block_header: header }), transactions };
}

function printIncluded(view: NodeView, id: string, visible: boolean): Json[] {
  const known = view.chain.included.get(id);
  if (known === undefined) return [];
  return [printTx(unpackTx(known), visible, { contractRet: known.receipt.contractRet })];
}

/** Returns a transaction if its block is visible at this port. */
function includedAt(view: NodeView, isSolid: boolean, id: string): Included | undefined {
  const known = view.chain.included.get(id);
  return known !== undefined && known.block <= view.top(isSolid).number ? known : undefined;
}

/** gettransactionbyid. The full port of a node at the head also returns a pending transaction, shown as SUCCESS. */
export function printTransaction(view: NodeView, isSolid: boolean, id: string, visible: boolean): Json {
  const known = includedAt(view, isSolid, id);
  if (known !== undefined) return printTx(unpackTx(known), visible, { contractRet: known.receipt.contractRet });
  return isSolid ? {} : printPending(view, id, visible);
}

export function printPending(view: NodeView, id: string, visible: boolean): Json {
  const pending: Tx | undefined = view.settings.behind === 0 ? view.chain.mempool.get(id) : undefined;
  return pending === undefined ? {} : printTx(pending, visible, { contractRet: 'SUCCESS' });
}

function printReceipt(receipt: Receipt): Json {
  const energy = receipt.energy;
  return sparse({
    energy_usage: energy?.usage ?? 0n,
    energy_fee: energy?.fee ?? 0n,
    origin_energy_usage: energy?.originUsage ?? 0n,
    energy_usage_total: energy?.total ?? 0n,
    net_usage: receipt.netUsage,
    net_fee: receipt.netFee,
    result: energy === undefined ? '' : receipt.contractRet,
    energy_penalty_total: energy?.penalty ?? 0n,
  });
}

/**
 * Prints internal transactions as receipts and constant calls show them: TRX first (`{}` if zero), then each token.
 * TRON: TransactionUtil.buildInternalTransaction.
 */
export function printInternal(internal: Receipt['internal'], visible: boolean): Json[] {
  return internal.map((each) =>
    sparse({
      hash: each.hash,
      caller_address: printAddress(each.caller, visible),
      transferTo_address: each.to === '' ? '' : printAddress(each.to, visible),
      callValueInfo: [
        sparse({ callValue: each.value }),
        ...(each.tokens ?? []).map(([tokenId, value]) => sparse({ callValue: value, tokenId })),
      ],
      note: Buffer.from(each.note).toString('hex'),
      rejected: each.rejected,
      extra: each.extra ?? '',
    }),
  );
}

/** Returns the internal transactions that a node stores under its configuration. */
function savedOf(view: NodeView, { internal }: Receipt): Receipt['internal'] {
  const { saveInternal } = view.settings;
  if (saveInternal === 'all') return internal;
  return saveInternal === 'none' ? [] : internal.filter(({ note }) => TRANSFER_NOTES.has(note));
}

/** gettransactioninfobyid: only for a transaction in a block that is visible at this port. */
export function printInfo(view: NodeView, isSolid: boolean, id: string, visible: boolean): Json {
  const known = includedAt(view, isSolid, id);
  return known === undefined ? {} : infoOf(view, id, known, visible);
}

/** TRON (Util.convertLogAddressToTronAddress): 20 bytes in hex; a full address if visible. */
function logOf(address: string, visible: boolean): string {
  return visible ? printAddress(`41${address}`, true) : address;
}

function infoOf(view: NodeView, id: string, { receipt, block }: Included, visible: boolean): Json {
  const isFailed = receipt.energy !== undefined && receipt.contractRet !== 'SUCCESS';
  return sparse({
    id,
    fee: receipt.fee,
    blockNumber: BigInt(block),
    blockTimeStamp: BigInt(view.chain.block(block).timeMs),
    contractResult: [receipt.output],
    contract_address: receipt.contract === undefined ? '' : printAddress(receipt.contract, visible),
    receipt: printReceipt(receipt),
    log: receipt.logs.map(({ address, ...log }) => sparse({ address: logOf(address, visible), ...log })),
    result: isFailed ? 'FAILED' : '',
    resMessage: visible ? Buffer.from(receipt.resMessage, 'hex').toString('utf8') : receipt.resMessage,
    ...receipt.extra,
    internal_transactions: printInternal(savedOf(view, receipt), visible),
  });
}

/** gettransactioninfobyblocknum: an empty list for an invisible block; no list at all for number 0 and below. */
export function printInfos(view: NodeView, isSolid: boolean, number: number, visible: boolean): Json {
  if (number <= 0) return {};
  const block = number <= view.top(isSolid).number ? view.chain.blocks[number] : undefined;
  if (block === undefined) return [];
  return block.txIds.map((id) => printInfo(view, isSolid, id, visible));
}

/** wallet/getnodeinfo: the members that clients may read. */
export function printNodeInfo(view: NodeView): Json {
  const spell = (block: Block): string => `Num:${String(block.number)},ID:${block.id}`;
  return {
    beginSyncNum: view.head.number,
    block: spell(view.head),
    solidityBlock: spell(view.solid),
    currentConnectCount: 1,
    activeConnectCount: 1,
    passiveConnectCount: 0,
    totalFlow: 0,
    peerList: [],
    configNodeInfo: {
      codeVersion: versionAt(view.chain.store),
      supportConstant: true,
      allowCreationOfContracts: 0n,
      minParticipationRate: 0,
    },
    machineInfo: { threadCount: 1, cpuCount: 1, javaVersion: '1.8.0', osName: 'devnet' },
    cheatWitnessInfoMap: {},
  };
}
