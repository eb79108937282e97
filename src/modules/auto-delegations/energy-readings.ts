/**
 * Reads the energy of an address at the head, from nodes that have the required block. If there are two such nodes,
 * both are asked and the larger answer counts, so that a wrong or stale node causes no purchase. Three nodes outvote
 * one.
 */
import { Injectable } from '@nestjs/common';
import { ChainUnavailableError, NodeError } from '../../platform/chain/errors.js';
import type { TronNode } from '../../platform/chain/node.js';
import { resourcesOf, TronClient } from '../../platform/chain/tron.client.js';
import type { EnergyRatio } from '../pool/energy-ratio.js';

export interface EnergyReading {
  readonly limit: bigint;
  readonly used: bigint;
  readonly ratio: EnergyRatio;
  /** The reading is not older than this block. */
  readonly block: number;
}

/**
 * Two nodes a block apart differ by the energy recovered in it. A difference above 1/100 of the limit means that one is
 * wrong.
 */
const ALIKE_PART = 100n;
const ASKED_MAX = 2;

@Injectable()
export class EnergyReadings {
  constructor(private readonly client: TronClient) {}

  /**
   * Returns the reading at or after block `atLeast`. Throws ChainUnavailableError while no node with that block
   * answers.
   */
  async read(address: string, atLeast: number): Promise<EnergyReading> {
    this.client.pool.assertAgreed();
    const { witnesses } = this.client.pool.agreement;
    const nodes = this.client.pool
      .healthy()
      .filter((node) => witnesses.includes(node) && (node.head?.number ?? -1) >= atLeast);
    const faults: unknown[] = [];
    const answers = await answersOf(nodes.slice(0, ASKED_MAX), address, faults);
    const [one, other] = answers;
    const isDoubted = answers.length < Math.min(ASKED_MAX, nodes.length) || (one && other && !areAlike(one, other));
    if (isDoubted === true) {
      for (const node of nodes.slice(ASKED_MAX)) {
        if (answers.length > ASKED_MAX) break;
        answers.push(...(await answersOf([node], address, faults)));
      }
    }
    answers.sort((a, b) => compare(usableOf(b), usableOf(a)));
    // The larger of two, or the middle one of three.
    const chosen = answers.length > ASKED_MAX ? answers[1] : answers[0];
    if (chosen === undefined) throw new ChainUnavailableError(`resources at block ${atLeast.toString()}`, faults);
    return chosen;
  }
}

async function answersOf(nodes: readonly TronNode[], address: string, faults: unknown[]): Promise<EnergyReading[]> {
  const outcomes = await Promise.allSettled(nodes.map((node) => readFrom(node, address)));
  return outcomes.flatMap((outcome) => {
    if (outcome.status === 'fulfilled') return outcome.value;
    if (!(outcome.reason instanceof NodeError)) throw outcome.reason;
    faults.push(outcome.reason);
    return [];
  });
}

async function readFrom(node: TronNode, address: string): Promise<EnergyReading> {
  // Read before the request: the answering state is of this head or a later one.
  const block = node.head?.number ?? 0;
  const { energyLimit, energyUsed, totalEnergyLimit, totalEnergyWeight } = await resourcesOf(node, address);
  return { limit: energyLimit, used: energyUsed, ratio: { totalEnergyLimit, totalEnergyWeight }, block };
}

const usableOf = ({ limit, used }: EnergyReading): bigint => limit - used;

function areAlike(one: EnergyReading, other: EnergyReading): boolean {
  const apart = usableOf(one) - usableOf(other);
  const most = one.limit > other.limit ? one.limit : other.limit;
  return (apart < 0n ? -apart : apart) * ALIKE_PART <= most;
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
