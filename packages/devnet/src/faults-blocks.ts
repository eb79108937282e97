// Wrong blocks of a misbehaving node: some that nobody made yet, and some larger than they are.
import { makeBlock, type Block } from './block.js';
import { printBlock, printInfos } from './chain-reads.js';
import type { Request, Response } from './http.js';
import { integerOf, member, printJson } from './json.js';
import type { NodeView } from './node-view.js';
import { buildTx, printTx } from './transactions.js';

/** Between two blocks of the main network. */
const SLOT_MS = 3_000;
/** The accounts of made-up payments. */
const PAYER = `41${'11'.repeat(20)}`;
const RECEIVER = `41${'22'.repeat(20)}`;

/**
 * The answer of a node whose head is `blocks` ahead of the chain: to a question for the head, or for one of the blocks
 * that it has made up, empty and linked to the chain's own head. undefined for any other question.
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

/** The receipts of the block that is so many before the one asked for; undefined when there is none, or another question. */
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

/** Made-up payments as text, by how they are asked for; as many as were ever needed. */
const payments: Record<'hex' | 'visible', string[]> = { hex: [], visible: [] };

/** A block's answer with as many made-up payments more as make it `bytes` long; any other answer as it is. */
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
