// Planted bugs in sizing and simulation, each with the test that must catch it.
import { one, type NamedTest, type PlantedBug } from './planted-bug.js';

const DYNAMICS = 'platform/chain/dynamic-energy.ts';
const PROBE = 'modules/quotes/sizing-probe.ts';
const TRANSFERS = 'platform/chain/transfer-call.ts';

const SIMULATION = 'modules/simulation/simulation.service.ts';

const simulate = (title: string): NamedTest => ({ file: 'integration/simulation/simulate.test.ts', title });
const causes = (title: string): NamedTest => ({ file: 'integration/quotes/token-causes.test.ts', title });
const sizing = (title: string): NamedTest => ({ file: 'long/quotes/sizing.test.ts', title });

export const PLANTED_SIZING: readonly PlantedBug[] = [
  {
    name: 'a node without CPU time has measured something',
    changes: [
      {
        file: 'platform/chain/token-reads.ts',
        find: `if (outcome.kind === 'refused' && outcome.refusal !== 'no-contract') {`,
        put: 'if (false) {',
      },
      {
        file: 'modules/quotes/market.ts',
        find: 'return { figures: last, obstacle: measured };',
        put: 'return { figures: undefined, obstacle: measured };',
      },
    ],
    test: sizing('stays as last measured while a'),
  },
  {
    name: 'a transfer that answers false has measured nothing',
    changes: one(TRANSFERS, 'showsTransfer(outcome.logs, fromHex, toHex)', '/1$/.test(outcome.result)'),
    test: sizing('is measured for a token that answers false to a transfer that succeeds'),
  },
  {
    name: 'a transfer without a Transfer event has measured something',
    changes: one(TRANSFERS, 'showsTransfer(outcome.logs, fromHex, toHex)', 'toHex.length > 0'),
    test: sizing('is not measured for a token that answers true and moves nothing'),
  },
  {
    name: 'a measured transfer pays no fee',
    changes: [
      { file: PROBE, find: 'const least = await this.reads.leastAmountWithFee();', put: 'const least = 1n;' },
      { file: PROBE, find: 'const USUAL_AMOUNT = 1_000_000n;', put: 'const USUAL_AMOUNT = 1n;' },
    ],
    test: sizing('is that of a transfer that pays the fee of the token'),
  },
  {
    name: 'a holder of less than pays a fee is measured',
    changes: one(PROBE, 'holders.filter(({ balance }) => balance >= least);', 'holders.filter(() => true);'),
    test: sizing('and the outlook tells so'),
  },
  {
    name: 'a size has no room for the next maintenance period',
    changes: one(
      PROBE,
      'energy(energyAfterNextStep(factor === undefined ? need : { ...need, factor }, dynamics))',
      'energy(need.energy)',
    ),
    test: sizing('covers the surcharge that the next maintenance period can add, and little more'),
  },
  {
    name: 'a busy token without a surcharge is sized as a quiet one',
    changes: one(DYNAMICS, 'state.factor === 0n && state.usage * 2n < rules.threshold', 'state.factor === 0n'),
    test: sizing('covers the first step once the token has used half of the threshold'),
  },
  {
    name: 'a quiet token is sized as a busy one',
    changes: one(DYNAMICS, 'state.factor === 0n && state.usage * 2n < rules.threshold', 'false'),
    test: sizing('is measured as soon as a holder is learned, and the holder is shared'),
  },
  {
    name: 'a surcharge rises without end',
    changes: one(DYNAMICS, 'stepped < highest ? stepped : highest', 'stepped'),
    test: sizing('covers the highest surcharge and nothing beyond it'),
  },
  {
    name: 'a node that leaves events out is believed alone',
    changes: one(
      'platform/chain/tron.client.ts',
      'if (!isEnough(outcome))',
      'if (!isEnough(outcome) && asked === undefined)',
    ),
    test: sizing('is measured by a second node where the first one leaves events out'),
  },
  {
    name: 'a paused token asks for a holder',
    changes: one(PROBE, `if (await this.reads.isPaused()) return 'paused';`, ''),
    test: sizing('and the outlook tells so'),
  },
  {
    name: 'a size ignores the part of the deployer',
    changes: one(PROBE, 'const terms = sharing ?? NO_SHARING;', 'const terms = NO_SHARING ?? sharing;'),
    test: sizing('is the callers’ part for a token whose deployer pays a part'),
  },
  {
    name: 'a simulation ignores the part of the deployer',
    changes: one(SIMULATION, 'callerPart(withMargin(outcome.energyUsed), sharing)', 'withMargin(outcome.energyUsed)'),
    test: simulate('needs the caller’s remaining share'),
  },
  {
    name: 'a deployer pays beyond its limit',
    changes: one('domain/energy-share.ts', '/ 100n, limit, available]', '/ 100n, available]'),
    test: simulate('needs all that the deployer’s limit does not reach'),
  },
  {
    name: 'a deployer shares in its own calls',
    changes: one('platform/chain/energy-sharing.ts', ' || sharing.deployer === caller', ''),
    test: simulate('needs everything from the deployer itself'),
  },
  {
    name: 'a cause is named for other contracts',
    changes: one(
      'modules/quotes/token-causes.ts',
      'call.contractAddress === this.reads.token ? ',
      'call.contractAddress !== "" ? ',
    ),
    test: causes('names no cause of another token'),
  },
  {
    name: 'an explanation names no cause of a failing transfer',
    changes: one(
      'modules/simulation/transfer-outlook.ts',
      'return this.causes.reasonOf(call, outcome);',
      'return undefined;',
    ),
    test: causes('the outlook of a sender gives the reason of a failing transfer:'),
  },
  {
    name: 'the spender is taken for the owner of the tokens',
    changes: one(
      'modules/quotes/token-call.ts',
      `kind: 'transferFrom', from: first`,
      `kind: 'transferFrom', from: call.ownerAddress`,
    ),
    test: causes('names the cause'),
  },
  {
    name: 'no cause is read from raw data',
    changes: one('modules/quotes/token-call.ts', 'return data?.toLowerCase();', 'return undefined;'),
    test: causes('a failing call as'),
  },
];
