/** Renders auto-delegations for the pages: next event, paying key, and costs. Reads only. */
import { Injectable } from '@nestjs/common';
import {
  autoDelegationBody,
  levelsOf,
  type AutoDelegationJson,
  type AutoDelegationTerms,
  type Shown,
} from '../auto-delegations/auto-delegations.dto.js';
import { keepingCosts, type PricedTerms } from '../auto-delegations/auto-delegation-prices.js';
import type { ShownAutoDelegation } from '../auto-delegations/auto-delegations.service.js';
import { ApiError } from '../../domain/errors.js';
import { energy, toJsonInteger } from '../../domain/units.js';
import { ApiKeys } from '../projects/api-keys.js';
import { money, withoutNull } from './answers.js';
import type { AutoDelegationShape, KeepingCosts, KeepingPreview, OneAutoDelegation } from './integration-shapes.js';
import { SaleRecords } from './sale-records.js';
import { TopUp } from './top-up.service.js';

@Injectable()
export class AutoDelegationAnswers {
  constructor(
    private readonly keys: ApiKeys,
    private readonly saleRecords: SaleRecords,
    private readonly topUp: TopUp,
  ) {}

  async one(projectId: string, { row, shown }: ShownAutoDelegation): Promise<OneAutoDelegation> {
    const key = (await this.keys.list(projectId, true)).find(({ id }) => id === row.api_key_id);
    const levels = levelsOf(row);
    const terms = {
      keepEnergy: energy(levels.keep_energy),
      refillBelow: energy(levels.refill_below),
      durationSec: row.duration_sec,
    };
    return withoutNull<OneAutoDelegation>({
      ...autoDelegationShape(row, shown),
      key: { id: row.api_key_id, name: key?.name ?? '', revoked: key?.revoked_at !== null },
      costs: await this.costsIfKnown(terms),
    });
  }

  /** Throws as `keepingCosts`. */
  async costs(terms: PricedTerms): Promise<KeepingCosts> {
    const costs = keepingCosts(await this.saleRecords.figures(), terms);
    return {
      idle_per_day: money(BigInt(costs.idle_cost_credits_per_day)),
      per_refill: money(BigInt(costs.cost_per_refill_credits)),
    };
  }

  /** Returns the effect of these terms on the project. Throws as `costs`. */
  async preview(projectId: string, terms: AutoDelegationTerms): Promise<KeepingPreview> {
    const costs = await this.costs(terms);
    const { balance, available } = await this.topUp.balance(projectId);
    const cap = terms.dailyCapCredits;
    return withoutNull<KeepingPreview>({
      ...costs,
      keep_energy: toJsonInteger(terms.keepEnergy),
      refill_below: toJsonInteger(terms.refillBelow),
      duration_sec: terms.durationSec,
      daily_cap: money(cap),
      balance,
      days_by_cap: cap === 0n || available === undefined ? undefined : toJsonInteger(BigInt(available.credits) / cap),
    });
  }

  private async costsIfKnown(terms: PricedTerms): Promise<KeepingCosts | undefined> {
    try {
      return await this.costs(terms);
    } catch (error) {
      if (error instanceof ApiError) return undefined;
      throw error;
    }
  }
}

export function autoDelegationShape(row: AutoDelegationJson, shown: Shown): AutoDelegationShape {
  const { daily_cap_credits: cap, spent_today_credits: spent, ...body } = autoDelegationBody(row, shown);
  return withoutNull<AutoDelegationShape>({
    ...body,
    daily_cap: money(BigInt(cap)),
    spent_today: money(BigInt(spent)),
    chooses_duration: row.auto_duration === true ? true : undefined,
    measured_uses: body.measured_uses,
    transfer_to: body.transfer_to,
    transfer_amount: body.transfer_amount,
    token: body.token,
    transfer_energy: body.transfer_energy,
    max_sun_per_energy: body.max_sun_per_energy,
    until: body.until,
    pause: body.pause,
    usable_energy: body.usable_energy,
    checked_at: body.checked_at,
    used_at: body.used_at,
    open_order: body.open_order,
    next: nextOf(row, body.status),
  });
}

/** Returns the event that the auto-delegation waits for. */
function nextOf(row: AutoDelegationJson, status: AutoDelegationShape['status']): AutoDelegationShape['next'] {
  const at = (time: string | null) => (time === null ? {} : { at: new Date(time).toISOString() });
  switch (status) {
    case 'ended':
      return undefined;
    case 'paused':
      return { what: 'tries_again', ...at(row.due_at ?? row.check_at) };
    case 'asleep':
      return { what: 'use' };
    case 'active':
      if (row.open_order_id !== null) return { what: 'order' };
      return row.change_at === null ? { what: 'use' } : { what: 'rental_ends', ...at(row.change_at) };
  }
}
