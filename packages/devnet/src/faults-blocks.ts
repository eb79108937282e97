// Wrong blocks of a faulty node: blocks ahead of the chain, and blocks that are padded.
import { makeBlock, type Block } from './block.js';
import { printBlock, printInfos } from './chain-reads.js';
import type { Request, Response } from './http.js';
import { integerOf, member, printJson } from './json.js';
import type { NodeView } from './node-view.js';
import { buildTx, printTx } from './transactions.js';

/** Block interval of the main net. */
const SLOT_MS = 3_000;
/** Accounts of fabricated payments. */
const PAYER = `41${'11'.repeat(20)}`;
const RECEIVER = `41${'22'.repeat(20)}`;

/**
 * Returns the answer of a node whose head is `blocks` ahead of the chain. Covers requests for the head and for the
 * fabricated blocks, which are empty and linked to the chain's head. Returns undefined for any other request.
 */
export function aheadOf(view: NodeView, isSolid: boolean, request: Request, blocks: number): Response | undefined {
  const top = view.top(isSolid);
  const [, name] = request.path.split('/');
  const asked = integerOf(member(request.body, name === 'getblock' ? 'id_or_num' : 'num'));
  let number: number;
  if (name === 'getnowblock' || (name === 'getblock' && asked === undefined)) number = top.number + blocks;
  else if (name === 'getblockbynum' || name === 'getblock') number = Number(asked ?? 0n);
  else return undefined;
  if (number <= top.number || number > top.number + blocks) return undefined;
  let last: Block = top;
  while (last.number < number) last = makeBlock('ahead', 0, last, last.timeMs + SLOT_MS, []);
  return { status: 200, body: printJson(printBlock(view, last, true, request.visible)) };
}

/**
 * Returns the receipts of a block `blocks` earlier than the requested one. Returns undefined if that block does not
 * exist, or for another request.
 */
export function otherReceipts(
  view: NodeView,
  isSolid: boolean,
  request: Request,
  blocks: number,
): Response | undefined {
  const asked = integerOf(member(request.body, 'num'));
  if (asked === undefined || !request.path.endsWith('/gettransactioninfobyblocknum')) return undefined;
  const number = Number(asked) - blocks;
  if (number < 1 || number > view.top(isSolid).number) return undefined;
  return { status: 200, body: printJson(printInfos(view, isSolid, number, request.visible)) };
}

/** Fabricated payments as text, by output form; grows as needed. */
const payments: Record<'hex' | 'visible', string[]> = { hex: [], visible: [] };

/** Pads a block's answer with fabricated payments to `bytes`. Returns any other answer unchanged. */
export function filled(response: Response, visible: boolean, bytes: number): Response {
  const { body } = response;
  if (body.length >= bytes || !body.startsWith('{') || !body.includes('"block_header"')) return response;
  const known = payments[visible ? 'visible' : 'hex'];
  const chosen: string[] = [];
  for (let length = body.length, n = 0; length < bytes; n += 1) {
    const text = (known[n] ??= payment(n, visible));
    chosen.push(text);
    length += text.length + 1;
  }
  const list = '"transactions":[';
  const at = body.indexOf(list);
  if (at < 0) return { ...response, body: `${body.slice(0, -1)},${list}${chosen.join(',')}]}` };
  const before = body.slice(0, at + list.length);
  return { ...response, body: `${before}${chosen.join(',')},${body.slice(at + list.length)}` };
}

function payment(n: number, visible: boolean): string {
  const body = { owner_address: PAYER, to_address: RECEIVER, amount: BigInt(n + 1) };
  const unsigned = buildTx('TransferContract', body, 0, { timestamp: BigInt(n + 1), expiration: BigInt(SLOT_MS) });
  const tx = { ...unsigned, signatures: ['00'.repeat(65)] };
  return printJson(printTx(tx, visible, { contractRet: 'SUCCESS' }));
}
