// The handlers of each port's paths. The solid port has only the paths that the real node has there.
import { accountAt, indexKey } from './accounts.js';
import { BUILDERS, buildDeployment, buildSystem } from './builders.js';
import {
  BLOCKS_PER_ANSWER,
  printBlock,
  printInfo,
  printInfos,
  printNodeInfo,
  printPending,
  printTransaction,
} from './chain-reads.js';
import { estimateEnergy, printContract, printContractInfo, triggerConstant, triggerSmart } from './contract-calls.js';
import { BroadcastError, nullPointer, parseError } from './errors.js';
import { type Handler, type Request } from './http.js';
import { type Json, member, printJson, textOf } from './json.js';
import { looseAddress, mergeJson } from './json-format.js';
import { int, num, text } from './fields.js';
import type { NodeView } from './node-view.js';
import { energyPricesAt, totalsAt } from './parameters.js';
import type { Message } from './schema.js';
import {
  accountNamed,
  printAccount,
  printAddress,
  printDelegatable,
  printDelegations,
  printParameters,
  printResources,
  printUnfreezingsLeft,
  printWithdrawable,
  sparse,
  validateAddress,
} from './reads.js';
import { printApprovedList, printSignWeight } from './sign-weight.js';
import { type Tx, printTx, txOfHex, txOfJson } from './transactions.js';
import { printNextMaintenance, votingReads } from './voting-reads.js';

type Table = Record<string, Handler>;

/** Parses a request as one of the node's messages. Throws the node's parse error. */
function asked(type: string, { body, source, visible }: Request): Message {
  return mergeJson(type, body, source, visible);
}

/** The `value` of a request as hex bytes. */
function hexValue(request: Request): string {
  return text(asked('BytesMessage', request), 'value');
}

/** The `value` as an address. The node parses it by hand if visible, and reads hex otherwise. */
function addressValue(request: Request): string | undefined {
  return request.visible ? looseAddress(request.body, 'value', true) : hexValue(request) || undefined;
}

function accountReads(view: NodeView, isSolid: boolean): Table {
  return {
    getaccount: (r) => {
      const context = view.read(isSolid);
      const account = accountAt(context.state, text(asked('AccountRequest', r), 'address'));
      return account === undefined ? {} : printAccount(context, account, r.visible);
    },
    getcandelegatedmaxsize: (r) => {
      const message = asked('CanDelegatedMaxSizeRequestMessage', r);
      return printDelegatable(view.read(isSolid), text(message, 'owner_address'), num(message, 'type'));
    },
    getdelegatedresourcev2: (r) => {
      const message = asked('DelegatedResourceMessage', r);
      return printDelegations(view.read(isSolid), text(message, 'fromAddress'), text(message, 'toAddress'), r.visible);
    },
    getdelegatedresourceaccountindexv2: (r) => delegationIndex(view, isSolid, r),
    getcanwithdrawunfreezeamount: (r) => {
      const message = asked('CanWithdrawUnfreezeAmountRequestMessage', r);
      return printWithdrawable(view.read(isSolid), text(message, 'owner_address'), int(message, 'timestamp'));
    },
    getavailableunfreezecount: (r) => {
      const message = asked('GetAvailableUnfreezeCountRequestMessage', r);
      return printUnfreezingsLeft(view.read(isSolid), text(message, 'owner_address'));
    },
    getenergyprices: () => ({ prices: energyPricesAt(view.read(isSolid).state) }),
    getbandwidthprices: () => ({ prices: '0:10,1:1000' }),
    getburntrx: () => sparse({ burnTrxAmount: totalsAt(view.read(isSolid).state).burned }),
  };
}

function delegationIndex(view: NodeView, isSolid: boolean, request: Request): Json {
  const account = addressValue(request);
  if (account === undefined) return {};
  const { state } = view.read(isSolid);
  const ends = (direction: 'to' | 'from'): string[] => {
    const found: (readonly [bigint, string])[] = [];
    for (const other of view.chain.store.linked(account, direction)) {
      const at = state.get(indexKey(account, direction, other));
      if (typeof at === 'bigint') found.push([at, other]);
    }
    found.sort((a, b) => (a[0] === b[0] ? (a[1] < b[1] ? -1 : 1) : a[0] < b[0] ? -1 : 1));
    return found.map(([, other]) => printAddress(other, request.visible));
  };
  return sparse({
    account: printAddress(account, request.visible),
    fromAccounts: ends('from'),
    toAccounts: ends('to'),
  });
}

function blockReads(view: NodeView, isSolid: boolean): Table {
  const at = (number: number, isVisible: boolean): Json => {
    const block = number >= 0 && number <= view.top(isSolid).number ? view.chain.blocks[number] : undefined;
    return block === undefined ? {} : printBlock(view, block, true, isVisible);
  };
  const range = (from: number, to: number, isVisible: boolean): Json => {
    const blocks: Json[] = [];
    for (let n = from; n < to && n <= view.top(isSolid).number; n++) blocks.push(at(n, isVisible));
    return sparse({ block: blocks });
  };
  return {
    getnowblock: (r) => printBlock(view, view.top(isSolid), true, r.visible),
    getblock: (r) => blockAsked(view, isSolid, r),
    getblockbynum: (r) => at(Number(int(asked('NumberMessage', r), 'num')), r.visible),
    getblockbyid: (r) => {
      const number = Number.parseInt(hexValue(r).slice(0, 16), 16);
      return view.chain.blocks[number]?.id === hexValue(r) ? at(number, r.visible) : {};
    },
    getblockbylimitnext: (r) => {
      const limits = asked('BlockLimit', r);
      const [from, to] = [Number(int(limits, 'startNum')), Number(int(limits, 'endNum'))];
      return from >= 0 && to > from && to - from <= BLOCKS_PER_ANSWER ? range(from, to, r.visible) : {};
    },
    getblockbylatestnum: (r) => {
      const count = Number(int(asked('NumberMessage', r), 'num'));
      const end = view.top(isSolid).number + 1;
      return count > 0 && count < BLOCKS_PER_ANSWER ? range(Math.max(0, end - count), end, r.visible) : {};
    },
    getnodeinfo: () => printNodeInfo(view),
  };
}

/** wallet/getblock {id_or_num?, detail?}: transactions only with detail. */
function blockAsked(view: NodeView, isSolid: boolean, request: Request): Json {
  const asked = member(request.body, 'id_or_num');
  const detail = member(request.body, 'detail')?.kind === 'true' || textOf(member(request.body, 'detail')) === 'true';
  let { number } = view.top(isSolid);
  if (asked !== undefined) {
    if (asked.kind !== 'string') throw parseError(`1:${String(asked.at + 1)}: Expected string.`);
    if (/^[0-9a-fA-F]{64}$/.test(asked.value)) {
      number = Number.parseInt(asked.value.slice(0, 16), 16);
      if (view.chain.blocks[number]?.id !== asked.value.toLowerCase()) return {};
    } else if (/^-?[0-9]+$/.test(asked.value)) {
      number = Number.parseInt(asked.value, 10);
      if (number < 0) return { Error: 'num must be non-positive number.' };
    } else if (asked.value !== '') return { Error: 'id must be legal block hash.' };
  }
  const block = number <= view.top(isSolid).number ? view.chain.blocks[number] : undefined;
  return block === undefined ? {} : printBlock(view, block, detail, request.visible);
}

function transactionReads(view: NodeView, isSolid: boolean): Table {
  return {
    gettransactionbyid: (r) => printTransaction(view, isSolid, hexValue(r), r.visible),
    gettransactioninfobyid: (r) => printInfo(view, isSolid, hexValue(r), r.visible),
    gettransactioninfobyblocknum: (r) =>
      printInfos(view, isSolid, Number(int(asked('NumberMessage', r), 'num')), r.visible),
    triggerconstantcontract: (r) => triggerConstant(view, isSolid, r),
    estimateenergy: (r) => estimateEnergy(view, isSolid, r),
  };
}

function fullOnly(view: NodeView): Table {
  const table: Table = {
    getaccountresource: (r) => {
      const context = view.read(false);
      const account = accountNamed(context, r.body, 'address', r.visible);
      return account === undefined ? {} : printResources(context, account);
    },
    getaccountnet: (r) => {
      const context = view.read(false);
      const account = accountNamed(context, r.body, 'address', r.visible);
      return account === undefined ? {} : printResources(context, account);
    },
    getnextmaintenancetime: () => printNextMaintenance(view),
    getchainparameters: () => printParameters(view.read(false)),
    validateaddress: (r) => validateAddress(r.body),
    getcontract: (r) => printContract(view.read(false), addressValue(r), r.visible),
    getcontractinfo: (r) => printContractInfo(view.read(false), addressValue(r), view.chain.cycle, r.visible),
    gettransactionfrompending: (r) => printPending(view, hexValue(r), r.visible),
    gettransactionlistfrompending: () => sparse({ txId: [...view.chain.mempool.keys()] }),
    getsignweight: (r) => printSignWeight(view, r),
    getapprovedlist: (r) => printApprovedList(view, r),
    getpendingsize: () => ({ pendingSize: view.chain.mempool.size }),
    deploycontract: (r) => buildDeployment(view, r),
    triggersmartcontract: (r) => triggerSmart(view, r),
    broadcasttransaction: (r) => broadcastJson(view, r),
    broadcasthex: (r) => broadcastHex(view, r),
  };
  for (const [path, type] of Object.entries(BUILDERS)) table[path] = (r) => buildSystem(view, type, r);
  return table;
}

async function broadcastJson(view: NodeView, request: Request): Promise<Json> {
  const tx = txOfJson(request.body, request.source, request.visible);
  return (await push(view, tx, request.visible)) ?? { result: true, txid: tx.id };
}

/** Broadcasts. Returns undefined on success, otherwise the refusal as the node prints it. */
async function push(view: NodeView, tx: Tx, visible: boolean): Promise<Record<string, Json> | undefined> {
  try {
    await view.chain.broadcast(tx);
    return undefined;
  } catch (error) {
    const refusal =
      error instanceof BroadcastError
        ? error
        : new BroadcastError('OTHER_ERROR', `Error: ${error instanceof Error ? error.message : String(error)}`);
    const message = visible ? refusal.message : Buffer.from(refusal.message, 'utf8').toString('hex');
    return { code: refusal.code, txid: tx.id, message };
  }
}

async function broadcastHex(view: NodeView, request: Request): Promise<Json> {
  const hex = textOf(member(request.body, 'transaction'));
  if (hex === undefined) throw nullPointer('Cannot invoke "String.startsWith(String)" because "input" is null');
  const tx = txOfHex(hex);
  const failed = await push(view, tx, true);
  const outcome = failed ?? { result: true, code: 'SUCCESS', txid: tx.id, message: '' };
  const { visible: _visible, ...printed } = printTx(tx, request.visible);
  return { result: false, ...outcome, transaction: printJson({ visible: request.visible, ...printed }) };
}

/** Returns every endpoint of a port by lower-case path. Each runs exclusively on the chain, so a read never sees half a transaction. */
export function endpoints(view: NodeView, isSolid: boolean): Map<string, Handler> {
  const prefix = isSolid ? 'walletsolidity/' : 'wallet/';
  const reads = [accountReads, blockReads, transactionReads, votingReads];
  const tables = reads.map((table) => table(view, isSolid));
  if (!isSolid) tables.push(fullOnly(view));
  const map = new Map<string, Handler>();
  for (const table of tables)
    for (const [path, handler] of Object.entries(table))
      map.set(prefix + path.toLowerCase(), (request) => view.chain.exclusively(() => handler(request)));
  return map;
}
