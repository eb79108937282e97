/** The tokens that deposits are paid in, recorded in the database. The only writer of deposit_token. */
import { Injectable } from '@nestjs/common';
import { Config } from '../../platform/config/config.js';
import { StartError } from '../../domain/errors.js';
import type { CountingTokens } from './block-payments.js';
import { Database, type Queryable } from '../../platform/database/database.js';

export interface PaidToken {
  readonly contract: string;
  /** The token before it; null for the first one. */
  readonly replaces: string | null;
  /** The first block in which its transfers count. */
  readonly fromBlock: bigint;
}

const TOKENS = {
  name: 'deposit_tokens',
  text: `SELECT contract, replaces, from_block AS "fromBlock" FROM deposit_token ORDER BY from_block`,
};

/** Does nothing where deposits are not in use or a token is already recorded. */
const KEEP_FIRST = {
  name: 'keep_first_deposit_token',
  text: `INSERT INTO deposit_token (contract, from_block) SELECT $1, 0
    WHERE EXISTS (SELECT FROM deposit_account) AND NOT EXISTS (SELECT FROM deposit_token) ON CONFLICT DO NOTHING`,
};

/** All tokens that deposits were ever paid in. In each block, exactly one of them counts. */
export class TokenHistory {
  /** `tokens`: oldest first. */
  constructor(readonly tokens: readonly PaidToken[]) {}

  /** The token that counts now; undefined before deposits are in use. */
  get current(): string | undefined {
    return this.tokens.at(-1)?.contract;
  }

  /** Returns the token whose transfers count in a block. */
  contractAt(block: number): string | undefined {
    return this.tokens.findLast(({ fromBlock }) => fromBlock <= BigInt(block))?.contract;
  }

  /** Returns the tokens to read a block with. */
  at(block: number): CountingTokens {
    return { counting: this.contractAt(block), all: this.tokens.map(({ contract }) => contract) };
  }
}

@Injectable()
export class DepositTokens {
  constructor(
    private readonly database: Database,
    private readonly config: Config,
  ) {}

  async history(on: Queryable = this.database): Promise<TokenHistory> {
    return new TokenHistory(await on.query<PaidToken>(TOKENS));
  }

  /** Returns the token to name to payers: the recorded one, or TOKEN_CONTRACT before deposits are in use. */
  async payable(): Promise<string> {
    return (await this.history()).current ?? this.config.chain.tokenContract;
  }

  /** Throws StartError when TOKEN_CONTRACT is not the token that deposits are paid in. */
  async assertSetting(on: Queryable = this.database): Promise<void> {
    const history = await this.recorded(on);
    this.refuseUnless(history.current, history);
  }

  /**
   * Throws StartError when deposits were never paid in TOKEN_CONTRACT. A predecessor passes, so that a process started
   * before the successor was accepted keeps running.
   */
  async assertKnown(): Promise<void> {
    const history = await this.recorded(this.database);
    const { tokenContract } = this.config.chain;
    const isKnown = history.tokens.some(({ contract }) => contract === tokenContract);
    this.refuseUnless(isKnown ? tokenContract : history.current, history);
  }

  /** Returns the tokens. Where deposits are in use and none is recorded, TOKEN_CONTRACT becomes the first one. */
  private async recorded(on: Queryable): Promise<TokenHistory> {
    await on.query(KEEP_FIRST, [this.config.chain.tokenContract]);
    return this.history(on);
  }

  private refuseUnless(wanted: string | undefined, { current, tokens }: TokenHistory): void {
    const { tokenContract } = this.config.chain;
    if (wanted === undefined || current === undefined || wanted === tokenContract) return;
    const isReplaced = tokens.some(({ contract }) => contract === tokenContract);
    throw new StartError(
      'CONFIGURATION',
      isReplaced
        ? `TOKEN_CONTRACT is ${tokenContract}, but deposits now use its successor ${current}. Set TOKEN_CONTRACT=${current}.`
        : `TOKEN_CONTRACT is ${tokenContract}, but deposits use ${current}. Set it back. ` +
            'If this is the successor of a deprecated token, run `deposits accept-successor` first.',
    );
  }
}
