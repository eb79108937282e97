// One round: applies the plan's faults while customers buy, heals everything, and judges the records by the production
// rules, with the chain as witness.
import { setMaxListeners } from 'node:events';
import { sleep } from '../../../src/platform/support/clock.js';
import { TronClient } from '../../../src/platform/chain/tron.client.js';
import { openParts } from '../../../src/modules/operator/operator.module.js';
import { SalesHold } from '../../../src/modules/pool/sales-hold.js';
import { Database } from '../../../src/platform/database/database.js';
import { findingsOf, type Finding } from '../../../src/modules/verify/finding.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import type { ReadRows } from '../../support/webhooks/webhook-judge.js';
import type { ChaosCluster } from './cluster.js';
import { Customers } from './customers.js';
import type { MetricsWatch } from './metrics.js';
import { HISTORIES } from './histories.js';
import { FAULTS, QUIET_MS, START_LIMIT_MS } from './faults.js';
import { resumeWallets } from './outsiders.js';
import type { Overlapping } from './overlapping.js';
import { balancesBelowFloor, blocksUnlikeTheChain, ratesNotQuoted } from './records-judge.js';
import { isNodeFault, type FaultName, type PlannedFault } from './plan.js';

export interface RoundOptions {
  readonly name: string;
  readonly plan: readonly PlannedFault[];
  /** Duration of the faults. */
  readonly lengthMs: number;
  /** Time after healing within which every order must be finished. */
  readonly healLimitMs: number;
  /** Also checks the records during the faults, and ends at the first violation. */
  readonly hunt?: { readonly judgesCapacity: boolean };
  /** An additional concurrent check, awaited before the judgement; returns its violations. */
  readonly beside?: (over: AbortSignal) => Promise<readonly string[]>;
  /** Polls the metrics of every process. */
  readonly metrics?: MetricsWatch;
  /** Durations that customers rent for; short by default. */
  readonly durationsSec?: readonly number[];
  /** True if customers rent twice for one receiver and their usable energy is judged. */
  readonly hasOverlaps?: boolean;
  readonly log: (who: string, line: string) => void;
}

export interface RoundOutcome {
  readonly violations: readonly string[];
  /** Effects of each planned fault. */
  readonly fired: ReadonlyMap<FaultName, number>;
  /** Node faults by kind, and refusals by code. */
  readonly byKind: ReadonlyMap<string, number>;
  readonly orders: Readonly<Record<string, number>>;
  readonly answers: ReadonlyMap<string, number>;
  readonly healedMs: number;
  /** Comparisons of usable energy; undefined if it was not judged. */
  readonly comparisons?: number | undefined;
}

const UNFINISHED_MAX = 40;
const METRICS_EVERY_MS = 2_000;
const HISTORIES_MAX = 5;
/** Each host receives twenty a second, and failed deliveries are retried. */
const SENT_LIMIT_MS = 120_000;
/** Wallets that could not deliver are retried after a while, and a throttled node must recover. */
const SUPPLIED_LIMIT_MS = 90_000;
/** A dead reader keeps its turn for 20 s. */
const DEPOSITED_LIMIT_MS = 90_000;
const VERIFY_TRIES = 4;
/** Passes of the reconciler that must have seen the end of all findings, independent of their duration. */
const GAUGES_PASSES = 6;
const GAUGES_LIMIT_MS = 240_000;
/** The finding for an on-chain act without a record. */
const ORPHANS = 'orphan-transactions';
/** More blocks than the chain has, so that every outsider's transaction is scanned. */
const SCAN_BLOCKS = 5_000;
/** Credits of the poor customer per round, in orders of the smallest size. */
const POOR_ORDERS = 2.5;

export async function playRound(cluster: ChaosCluster, options: RoundOptions): Promise<RoundOutcome> {
  return new Round(cluster, options).play();
}

/** A rule of the nodes' control port with its effects. */
interface StandingRule {
  readonly id: number;
  readonly kind: string;
  readonly code?: string;
  readonly wrong: string;
  readonly fired: number;
}

class Round {
  private readonly fired = new Map<FaultName, number>();
  private readonly byKind = new Map<string, number>();
  private readonly over = new AbortController();
  private readonly customers: Customers;
  private readonly violations: string[] = [];
  private readonly read: ReadRows = async <Row extends object>(text: string, params: unknown[]) =>
    (await this.cluster.sql.query<Row>(text, params)).rows;

  constructor(
    private readonly cluster: ChaosCluster,
    private readonly options: RoundOptions,
  ) {
    const receivers = cluster.service.accounts.map((account) => account.address);
    const { name: run, durationsSec } = options;
    const { rich, poor, sellsBandwidth: buysBandwidth } = cluster;
    this.customers = new Customers({ rich, poor, receivers, run, durationsSec, buysBandwidth });
  }

  async play(): Promise<RoundOutcome> {
    const { cluster, options } = this;
    // Every waiting task listens for the end.
    setMaxListeners(0, this.over.signal);
    options.log('plan', JSON.stringify(options.plan));
    cluster.onLoss = ({ orders, txids }) => {
      options.log('chaos', `lost orders: ${[...orders].join(' ')}; transactions without one: ${[...txids].join(' ')}`);
      this.customers.forget(orders);
      cluster.overlapping.excuse();
    };
    await cluster.passDay();
    await resumeWallets(cluster);
    await this.waitForService();
    const buying = this.customers.keepBuying(
      this.over.signal,
      async () => (await cluster.unfinished()) < UNFINISHED_MAX,
    );
    const paying = cluster.depositors.keepPaying(this.over.signal);
    await cluster.supplied.keep(this.read);
    const using = Promise.all([cluster.keepUsing(this.over.signal), this.overlap()]);
    const watching = this.watchMetrics();
    const doing = Promise.all([...options.plan.map(async (fault) => this.perform(fault)), this.doBeside()]);
    if (options.hunt !== undefined) await this.watch(options.hunt.judgesCapacity);
    else await sleep(options.lengthMs);
    if (this.violations.length > 0 || this.customers.wrongs.length > 0)
      return this.found(Promise.all([buying, paying, using]), doing);
    await doing;
    this.over.abort();
    await this.heal();
    const healedAt = performance.now();
    await Promise.all([buying, paying, using, watching]);
    const unanswered = await this.customers.settle(options.healLimitMs);
    if (unanswered > 0) this.violations.push(`I11 ${unanswered.toString()} purchases never got an answer`);
    await Promise.all([this.judgeSupplied(), this.judgeOverlaps()]);
    options.log('chaos', `${cluster.supplied.uses.toString()} uses of addresses that are kept supplied`);
    options.log('chaos', cluster.spenders.summary);
    await this.waitUntilOver(performance.now());
    await this.waitUntilSent();
    const healedMs = performance.now() - healedAt;
    await this.judge();
    if (this.violations.length === 0) await this.judgeGauges();
    const orders = await this.orders();
    if (Object.keys(orders).length === 0) this.violations.push('nothing was sold: the round proves nothing');
    return {
      violations: this.violations,
      fired: this.fired,
      byKind: this.byKind,
      orders,
      answers: this.customers.counts,
      healedMs,
      ...(options.hasOverlaps === true ? { comparisons: cluster.overlapping.comparisons } : {}),
    };
  }

  private get overlaps(): Parameters<Overlapping['keepRenting']>[0] {
    return { merchants: this.cluster.rich, run: this.options.name, read: this.read };
  }

  private async overlap(): Promise<void> {
    if (this.options.hasOverlaps === true) await this.cluster.overlapping.keepRenting(this.overlaps, this.over.signal);
  }

  private async judgeSupplied(): Promise<void> {
    for (const wrong of await this.cluster.supplied.violations(this.read, SUPPLIED_LIMIT_MS))
      this.violations.push(`I17 ${wrong}`);
  }

  private async judgeOverlaps(): Promise<void> {
    const { cluster, options } = this;
    if (options.hasOverlaps !== true) return;
    for (const wrong of await cluster.overlapping.violations(this.overlaps, options.healLimitMs))
      this.violations.push(`usable energy: ${wrong}`);
    options.log('chaos', cluster.overlapping.summary);
  }

  private async watchMetrics(): Promise<void> {
    while (!this.over.signal.aborted) {
      await this.checkMetrics();
      // Resumes sales that were stopped for these findings.
      await this.explainKnown().catch(() => undefined);
      await sleep(METRICS_EVERY_MS, this.over.signal);
    }
  }

  private async checkMetrics(): Promise<void> {
    const { metrics } = this.options;
    if (metrics === undefined) return;
    await Promise.all(this.cluster.adminPorts.map(({ role, port }) => metrics.look(role, port)));
  }

  /** Checks the records every two seconds until a violation or the end of the round. */
  private async watch(judgesCapacity: boolean): Promise<void> {
    const endsAt = performance.now() + this.options.lengthMs;
    const database = this.cluster.parts.get(Database);
    while (performance.now() < endsAt && this.violations.length === 0 && this.customers.wrongs.length === 0) {
      await sleep(2_000);
      const report = await verifyRecords(database).catch(() => undefined);
      if (report === undefined) continue;
      this.add(findingsOf(report).filter(({ check }) => judgesCapacity || check !== 'capacity'));
      this.violations.push(...(await balancesBelowFloor(this.read).catch(() => [])));
    }
  }

  /** Ends the round with violations found during the faults; heals nothing. */
  private async found(buying: Promise<unknown>, doing: Promise<unknown>): Promise<RoundOutcome> {
    this.violations.push(...this.customers.wrongs);
    this.over.abort();
    await Promise.all([buying, doing]);
    const { fired, byKind, violations } = this;
    return { violations, fired, byKind, orders: await this.orders(), answers: this.customers.counts, healedMs: 0 };
  }

  private add(found: readonly Finding[]): void {
    // A planted bug may also lack its guard; its effect must be visible, not the missing guard.
    const counted = this.options.hunt === undefined ? found : found.filter(({ check }) => !check.startsWith('guard'));
    for (const { rule, check, subject, facts } of counted.slice(0, 20)) {
      this.violations.push(`${rule} ${check}: ${subject} ${JSON.stringify(facts)}`);
    }
  }

  /** Waits until the APIs quote a price: nothing can be bought before an API has read the market. */
  private async waitForService(): Promise<void> {
    for (const actor of this.cluster.all) {
      if (!(await actor.comesUp(2 * START_LIMIT_MS))) throw new Error(`${actor.name} does not come up`);
    }
    const body = { receive_address: this.cluster.service.accounts[0]?.address, energy: 32_000 };
    let price = 0;
    for (const merchant of this.cluster.rich) {
      for (let attempt = 0; attempt < 300; attempt += 1) {
        const answer = await merchant.post('/v1/quotes', body).catch(() => undefined);
        price = Number(answer?.body['credits'] ?? 0);
        if (answer?.status === 200) break;
        if (attempt === 299) throw new Error('the API names no price');
        await sleep(200);
      }
    }
    await this.cluster.topUp(Math.ceil(price * POOR_ORDERS), this.options.name);
  }

  private async doBeside(): Promise<void> {
    const wrong = await this.options.beside?.(this.over.signal).catch((error: unknown) => [String(error)]);
    this.violations.push(...(wrong ?? []));
  }

  private async perform(fault: PlannedFault): Promise<void> {
    const { lengthMs, log } = this.options;
    await sleep(fault.from * lengthMs, this.over.signal);
    // Only a hunt that has found its bug ends before its faults do.
    if (this.over.signal.aborted) return;
    const lastsMs = (fault.to - fault.from) * lengthMs;
    log('chaos', `${fault.name} for ${Math.round(lastsMs).toString()} ms`);
    let times = 0;
    try {
      times = isNodeFault(fault.name)
        ? await this.misbehave(fault, lastsMs)
        : await FAULTS[fault.name](this.cluster, fault, lastsMs, this.over.signal);
    } catch (error) {
      log('chaos', `${fault.name} failed: ${String(error)}`);
      this.violations.push(`the fault could not be made: ${fault.name}: ${String(error)}`);
    }
    log('chaos', `${fault.name} took effect ${times.toString()} times`);
    this.fired.set(fault.name, (this.fired.get(fault.name) ?? 0) + times);
  }

  private async misbehave(fault: PlannedFault, lastsMs: number): Promise<number> {
    const rules = fault.rules.map((rule, index) => ({ ...rule, seed: `${fault.seed} ${index.toString()}` }));
    const { added } = await this.cluster.control('faults', { faults: rules });
    const ids = new Set((added as readonly { id: number }[]).map(({ id }) => id));
    await sleep(lastsMs, this.over.signal);
    const main = fault.rules[0]?.kind;
    let rulesThen = await this.standing(ids);
    // A fault without a matching call waits for one: a fault without effect proves nothing.
    for (
      let waitedMs = 0;
      waitedMs < QUIET_MS &&
      !this.over.signal.aborted &&
      rulesThen.every(({ kind, fired }) => kind !== main || fired === 0);
      waitedMs += 500
    ) {
      await sleep(500);
      rulesThen = await this.standing(ids);
    }
    let times = 0;
    for (const { id, kind, code, wrong, fired } of rulesThen) {
      await this.cluster.control('faults/clear', { id });
      if (kind === main) times += fired;
      const name = kind === 'wrong' ? `wrong: ${wrong}` : code === undefined ? kind : `${kind} ${code}`;
      this.byKind.set(name, (this.byKind.get(name) ?? 0) + fired);
    }
    return times;
  }

  private async standing(ids: ReadonlySet<number>): Promise<readonly StandingRule[]> {
    const { faults } = (await this.cluster.control('faults')) as { faults: readonly StandingRule[] };
    return faults.filter(({ id }) => ids.has(id));
  }

  private async heal(): Promise<void> {
    await this.cluster.control('faults/clear');
    this.cluster.proxy.arm(0, () => 1);
    for (const actor of this.cluster.all) actor.heal();
    this.cluster.receivers.heal();
    this.options.log('chaos', 'healed');
  }

  private async waitUntilOver(healedAt: number): Promise<void> {
    let left = -1;
    while (performance.now() - healedAt < this.options.healLimitMs) {
      left = await this.cluster.unfinished().catch(() => -1);
      if (left === 0) return;
      await sleep(200);
    }
    this.violations.push(
      `I5 ${left.toString()} orders not over ${this.options.healLimitMs.toString()} ms after healing`,
    );
    for (const history of await this.histories()) this.options.log('history', history);
  }

  /** Resends failed deliveries immediately, as their owner would, instead of minutes later. */
  private async waitUntilSent(): Promise<void> {
    let left = -1;
    const endsAt = performance.now() + SENT_LIMIT_MS;
    while (performance.now() < endsAt) {
      left = await this.cluster.receivers.hurry(this.cluster.parts, this.read).catch(() => -1);
      if (left === 0) break;
      await sleep(500);
    }
    this.options.log('chaos', `${this.cluster.receivers.count.toString()} events have come to receivers`);
    if (left === 0) return;
    this.violations.push(
      `I10 ${left.toString()} events or deliveries wait ${SENT_LIMIT_MS.toString()} ms after all was over`,
    );
  }

  private async judge(): Promise<void> {
    this.violations.push(...this.customers.wrongs);
    for (const wrong of await this.cluster.receivers.violations(this.read)) this.violations.push(`I10 ${wrong}`);
    await this.checkAnswers();
    this.violations.push(
      ...(await balancesBelowFloor(this.read)),
      ...(await blocksUnlikeTheChain(this.cluster, this.options.name, this.read)),
      ...(await ratesNotQuoted(this.options.name, this.read)),
    );
    for (const wrong of await this.cluster.depositors.violations(this.read, DEPOSITED_LIMIT_MS)) {
      this.violations.push(`I14 ${wrong}`);
    }
    this.options.log('chaos', `${this.cluster.depositors.payments.toString()} deposits were paid`);
    const parts = await openParts(this.cluster.directEnv);
    try {
      const chain = parts.get(TronClient, { strict: false });
      const database = parts.get(Database);
      for (let attempt = 1; ; attempt += 1) {
        const report = await verifyRecords(database, { chain, settleWithinSec: 0, scanBlocks: SCAN_BLOCKS }).catch(
          (error: unknown) => ({
            checks: [],
            unmade: [{ check: 'verify', why: String(error) }],
            tookMs: 0,
            recordsMs: 0,
          }),
        );
        const found = await this.explain(findingsOf(report));
        const unmade = report.unmade.map(({ check, why }) => `${check} could not be made: ${why}`);
        // The pool reads a wallet once a second, and a throttled node must recover.
        if (attempt < VERIFY_TRIES && (unmade.length > 0 || found.some(({ check }) => check === 'capacity'))) {
          await sleep(3_000);
          continue;
        }
        this.violations.push(...unmade);
        this.add(found);
        break;
      }
    } finally {
      await parts.close();
    }
    if (this.violations.length > 0) for (const history of await this.histories()) this.options.log('history', history);
  }

  /**
   * Checks that sales continue, that zero metrics are zero, and that workers know every gauge, once the reconciler has
   * processed all explanations.
   */
  private async judgeGauges(): Promise<void> {
    const { metrics } = this.options;
    const hold = this.cluster.parts.get(SalesHold);
    let odd: readonly string[] = [];
    const passes = new Set<string>();
    const endsAt = performance.now() + GAUGES_LIMIT_MS;
    while (passes.size < GAUGES_PASSES && performance.now() < endsAt) {
      await this.checkMetrics();
      passes.add(await this.lastPass());
      await this.explainKnown();
      const stop = await hold.currentStop();
      odd = [
        ...(stop === undefined ? [] : [`sales are stopped: ${stop.reason}`]),
        ...(metrics?.faultsInTheEnd(this.excused) ?? []),
      ];
      if (odd.length === 0) return;
      await sleep(1_000);
    }
    for (const each of odd) this.violations.push(`${each}, ${passes.size.toString()} passes after all was over`);
  }

  /** Returns the end of the reconciler's newest pass, by the database's clock. */
  private async lastPass(): Promise<string> {
    const { rows } = await this.cluster.sql.query<{ at: string }>(`SELECT passed_at::text AS at FROM reconcile_state`);
    return rows[0]?.at ?? '';
  }

  /** Metrics that count the wallet owners' transactions made here. */
  private get excused(): ReadonlySet<string> {
    return new Set(this.cluster.ownerTxids.size > 0 ? ['early_reclaims_total'] : []);
  }

  /** Compares the customers' answers with the orders. */
  private async checkAnswers(): Promise<void> {
    const { purchases } = this.customers;
    const { rows } = await this.cluster.sql.query<{ key: string; id: string }>(
      `SELECT key, id::text FROM orders WHERE key = ANY ($1)`,
      [purchases.map(({ key }) => key)],
    );
    const there = new Set(rows.map(({ key }) => key));
    for (const { key, state, isUnclear, answers } of purchases) {
      if (state === 'accepted' && !there.has(key)) this.violations.push(`I11 ${key} was accepted and is not there`);
      if (state === 'refused' && !isUnclear && there.has(key)) {
        this.violations.push(`I11 ${key} was refused and is there: ${answers.join(', ')}`);
      }
    }
  }

  /** Explains known findings in the records, as the operator would. */
  private async explainKnown(): Promise<void> {
    const { ownerTxids: handTxids, lostTxids, parts } = this.cluster;
    if (handTxids.size + lostTxids.size === 0) return;
    const stopped = await parts.get(SalesHold).currentStop();
    const { rows } = await this.cluster.sql.query(`SELECT FROM pool_wallet WHERE books_fault IS NOT NULL`);
    if (stopped === undefined && rows.length === 0) return;
    await this.explain(findingsOf(await verifyRecords(parts.get(Database))));
  }

  /** Returns the unexplained findings: neither an owner's transaction made here, nor of an order lost in a failover. */
  private async explain(found: readonly Finding[]): Promise<Finding[]> {
    const { ownerTxids: handTxids, lostTxids, parts } = this.cluster;
    const names = (txids: ReadonlySet<string>, { subject, facts }: Finding): boolean =>
      [...txids].some((txid) => `${subject} ${JSON.stringify(facts)}`.includes(txid));
    const acts = found.filter(
      (finding) => names(handTxids, finding) || (finding.check === ORPHANS && names(lostTxids, finding)),
    );
    const author = { actor: 'chaos', reason: 'an owner’s hand, or an order that a failover lost' };
    if (acts.length > 0) await parts.get(SalesHold).explain(acts, author, acts.length === found.length);
    return found.filter((finding) => !acts.includes(finding));
  }

  private async orders(): Promise<Record<string, number>> {
    const { rows } = await this.cluster.sql.query<{ name: string; count: number }>(
      `SELECT kind || ' ' || status AS name, count(*)::int AS count FROM orders WHERE key LIKE $1 GROUP BY 1 ORDER BY 1`,
      [`${this.options.name}-%`],
    );
    return Object.fromEntries(rows.map(({ name, count }) => [name, count]));
  }

  /** Returns the full histories of unfinished orders, or of the newest ones if all are finished. */
  private async histories(): Promise<string[]> {
    const { rows } = await this.cluster.sql.query<{ history: string }>(HISTORIES, [HISTORIES_MAX]);
    return rows.map(({ history }) => history);
  }
}
