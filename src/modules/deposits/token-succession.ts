/** Accepts the successor of a deprecated token for deposits, as the nodes report it. */
import { Injectable } from '@nestjs/common';
import { BlockCursor } from '../../platform/blocks/block-cursor.js';
import { isAddress } from '../../domain/base58-address.js';
import type { TronNode } from '../../platform/chain/node.js';
import { hasBalances, isDeprecatedIn, tokenStateOf } from '../../platform/chain/token-state.js';
import { TronClient } from '../../platform/chain/tron.client.js';
import { OperatorError } from '../../domain/operator-error.js';
import { recordAct, type Author } from '../../platform/database/audit-log.js';
import { Database, type Transaction } from '../../platform/database/database.js';
import { DepositTokens, type PaidToken } from './deposit-tokens.js';

/** An accepted successor and the blocks that it affects. */
export interface Succession {
  readonly contract: string;
  readonly replaces: string;
  /** The first block in which the successor's transfers count. */
  readonly fromBlock: bigint;
  /** The block up to which deposits are read. Blocks from `fromBlock` to here need a rescan. */
  readonly readTo: bigint;
}

const ACCEPT = `INSERT INTO deposit_token (contract, replaces, from_block) VALUES ($1, $2, $3)`;
const BEGIN_EARLIER = `UPDATE deposit_token SET from_block = $2 WHERE contract = $1`;
/** A deposit in the predecessor token at or after a block. */
const PAID_BEFORE = `SELECT id FROM deposit WHERE asset = 'USDT' AND contract = $1 AND block_number >= $2 LIMIT 1`;

@Injectable()
export class TokenSuccession {
  constructor(
    private readonly database: Database,
    private readonly client: TronClient,
    private readonly cursor: BlockCursor,
    private readonly tokens: DepositTokens,
  ) {}

  /**
   * Counts transfers of `successor` as deposits from the next block on, or from `fromBlock`: the block in which the
   * token was deprecated. Every node must confirm the deprecation in favour of `successor`. A repeated call with an
   * earlier block moves the beginning there. Throws OperatorError, NodeError.
   */
  async accept(successor: string, fromBlock: bigint | undefined, author: Author): Promise<Succession> {
    if (!isAddress(successor)) throw new OperatorError(`${successor} is not a TRON address.`, 2);
    const { tokens } = await this.tokens.history();
    const known = tokens.find(({ contract }) => contract === successor);
    const replaced = known === undefined ? tokens.at(-1)?.contract : known.replaces;
    if (replaced === undefined) throw new OperatorError('Deposits are not enabled. Run `deposits use-account` first.');
    if (replaced === null) throw new OperatorError(`${successor} is the first token of deposits, not a successor.`);
    if (known !== undefined && (fromBlock === undefined || fromBlock >= known.fromBlock)) {
      throw new OperatorError(`${successor} already counts from block ${known.fromBlock.toString()}.`);
    }
    const deprecated = { contract: replaced, successor };
    for (const node of this.client.pool.agreement.witnesses) await assertSucceeded(node, deprecated, fromBlock);
    return this.database.transaction(async (tx) => {
      const readTo = await this.cursor.lockWithoutLease(tx);
      if (readTo === undefined)
        throw new OperatorError('No block has been read for deposits yet. Start a worker first.');
      const from = fromBlock ?? readTo + 1n;
      await assertNothingPaid(tx, replaced, from);
      await (known === undefined
        ? tx.query(ACCEPT, [successor, replaced, from])
        : tx.query(BEGIN_EARLIER, [successor, from]));
      await recordAct(tx, author, {
        action: 'deposits.accept-successor',
        subject: successor,
        detail: { replaces: replaced, fromBlock: from },
      });
      return { contract: successor, replaces: replaced, fromBlock: from, readTo };
    });
  }

  /** Returns the tokens so far, oldest first. */
  async list(): Promise<readonly PaidToken[]> {
    return (await this.tokens.history()).tokens;
  }
}

async function assertSucceeded(
  node: TronNode,
  { contract, successor }: { readonly contract: string; readonly successor: string },
  fromBlock: bigint | undefined,
): Promise<void> {
  const state = await tokenStateOf(node, contract);
  if (!state.isDeprecated) throw new OperatorError(`According to ${node.name}, ${contract} is not deprecated.`);
  if (state.successor !== successor) {
    throw new OperatorError(
      `According to ${node.name}, the successor of ${contract} is ${state.successor ?? 'not set'}.`,
    );
  }
  if (!(await hasBalances(node, successor))) {
    throw new OperatorError(`${successor} does not answer balanceOf(address) on ${node.name}, so it is not a token.`);
  }
  if (fromBlock === undefined) return;
  if (await isDeprecatedIn(node, Number(fromBlock), { contract, successor })) return;
  throw new OperatorError(
    `${node.name} has no event in block ${fromBlock.toString()} that deprecates ${contract}. Pass the block of that event.`,
  );
}

async function assertNothingPaid(tx: Transaction, contract: string, from: bigint): Promise<void> {
  const [paid] = await tx.query<{ id: bigint }>(PAID_BEFORE, [contract, from]);
  if (paid === undefined) return;
  throw new OperatorError(`Deposit ${paid.id.toString()} was paid in ${contract} after block ${from.toString()}.`);
}
