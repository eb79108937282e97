/**
 * Reads the settings of the token's owner, and which of our addresses the token blacklists. Each round is done by one
 * worker, for a bounded number of addresses. The only writer of token_state and blacklisted_address.
 */
import { Injectable } from '@nestjs/common';
import { RepeatedTask } from '../../platform/support/repeated-task.js';
import { tokenStateOf, type TokenState } from '../../platform/chain/token-state.js';
import { TronClient } from '../../platform/chain/tron.client.js';
import { messageOf } from '../../domain/errors.js';
import { Log } from '../../platform/observability/logger.js';
import { Database } from '../../platform/database/database.js';
import { Blacklist } from './blacklist.js';
import { DepositTokens } from './deposit-tokens.js';

const ROUND_SEC = 60;
const LOOK_MS = 10_000;
const ADDRESSES_EACH = 20;
const LISTED_EACH = 50;
/** Receivers of the newest orders. Rented energy is useless to a blacklisted receiver. */
const ORDERS_SEEN = 200;

const ADD = `INSERT INTO token_state (contract) VALUES ($1) ON CONFLICT DO NOTHING`;
/** A round due later than one round ahead was set by a clock that jumped, so it is due now. */
const CLAIM = `UPDATE token_state SET due_at = clock_timestamp() + $2 * interval '1 second'
   WHERE contract = $1 AND due_at NOT BETWEEN clock_timestamp() AND clock_timestamp() + $2 * interval '1 second'
  RETURNING checked_to`;

const NEXT = `SELECT address, min(use) AS use FROM (
      (SELECT address, 'deposit' AS use FROM deposit_address WHERE address > $1 ORDER BY address LIMIT $2)
      UNION ALL (SELECT address, 'sweep' FROM deposit_sweep_address WHERE address > $1 ORDER BY address LIMIT $2)
      UNION ALL SELECT receive_address, 'receiver' FROM (
        SELECT receive_address FROM open_orders WHERE NOT test ORDER BY id DESC LIMIT ${ORDERS_SEEN.toString()}) newest
       WHERE receive_address > $1) candidate
   GROUP BY address ORDER BY address LIMIT $2`;
/** Random, so that each of more addresses than a round checks has its turn. */
const LISTED = `SELECT address, use FROM blacklisted_address ORDER BY random() LIMIT $1`;
const SAVE = `UPDATE token_state SET deprecated = $2, successor = $3, paused = $4, fee_basis_points = $5, maximum_fee = $6,
    checked_to = $7, read_at = clock_timestamp() WHERE contract = $1`;
const KEEP = `INSERT INTO blacklisted_address (address, use) SELECT * FROM unnest($1::text[], $2::text[]) ON CONFLICT DO NOTHING`;
const DROP = `DELETE FROM blacklisted_address WHERE address = ANY ($1::text[])`;

interface Watched {
  readonly address: string;
  readonly use: 'deposit' | 'sweep' | 'receiver';
}

@Injectable()
export class TokenWatch extends RepeatedTask {
  constructor(
    private readonly database: Database,
    private readonly client: TronClient,
    private readonly tokens: DepositTokens,
    private readonly blacklist: Blacklist,
    private readonly log: Log,
  ) {
    super(LOOK_MS, (error) => {
      log.warn({ fault: messageOf(error) }, 'failed to read the settings of the token owner');
    });
  }

  protected override async runOnce(): Promise<number> {
    await this.checkNextAddresses();
    return LOOK_MS;
  }

  /** Runs one round if it is due and no other worker has claimed it. Throws ChainUnavailableError. */
  async checkNextAddresses(): Promise<void> {
    const contract = await this.tokens.payable();
    await this.database.query(ADD, [contract]);
    const [round] = await this.database.query<{ checked_to: string }>(CLAIM, [contract, ROUND_SEC]);
    if (round === undefined) return;
    const state = await this.client.pool.ask('what the owner of the token has set', (node) =>
      tokenStateOf(node, contract),
    );
    const next = await this.database.query<Watched>(NEXT, [round.checked_to, ADDRESSES_EACH]);
    const listed = await this.database.query<Watched>(LISTED, [LISTED_EACH]);
    const watched = new Map([...next, ...listed].map((each) => [each.address, each]));
    await this.blacklist.read(watched.keys());
    const checkedTo = next.length < ADDRESSES_EACH ? '' : (next.at(-1)?.address ?? '');
    await this.save(contract, state, checkedTo, [...watched.values()]);
  }

  private async save(
    contract: string,
    state: TokenState,
    checkedTo: string,
    watched: readonly Watched[],
  ): Promise<void> {
    const { isDeprecated, successor = null, isPaused, feeBasisPoints, maximumFee } = state;
    const found = watched.filter(({ address }) => this.blacklist.has(address));
    const free = watched.filter(({ address }) => !this.blacklist.has(address));
    await this.database.transaction(async (tx) => {
      await tx.query(SAVE, [contract, isDeprecated, successor, isPaused, feeBasisPoints, maximumFee, checkedTo]);
      await tx.query(KEEP, [found.map(({ address }) => address), found.map(({ use }) => use)]);
      await tx.query(DROP, [free.map(({ address }) => address)]);
    });
    if (isDeprecated) this.log.warn({ contract, successor }, 'deposit token deprecated');
    for (const { address, use } of found) this.log.warn({ address, use }, 'address blacklisted by the deposit token');
  }
}
