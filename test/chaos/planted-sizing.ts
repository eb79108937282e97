// Planted bugs of sizes and simulations, each with the test that must catch it.
import { one, type NamedTest, type PlantedBug } from './planted-bug.js';

const PROBE = 'quotes/sizing-probe.ts';

const market = (title: string): NamedTest => ({ file: 'long/market.test.ts', title });

export const PLANTED_SIZING: readonly PlantedBug[] = [
  {
    name: 'a node without CPU time has measured something',
    changes: [
      {
        file: PROBE,
        find: `if (outcome.kind === 'refused' && outcome.refusal !== 'no-contract') {`,
        put: 'if (false) {',
      },
      { file: 'quotes/market.ts', find: 'return { figures: last };', put: 'return { figures: undefined };' },
    ],
    test: market('stays as it was last measured while a'),
  },
  {
    name: 'a transfer that answers false has measured nothing',
    changes: one(PROBE, 'showsTransfer(outcome.logs, addressToHex(from), toHex)', 'firstWord(outcome.result) === 1n'),
    test: market('is measured of a token that answers false to a transfer that succeeds'),
  },
  {
    name: 'a transfer without a Transfer event has measured something',
    changes: one(PROBE, 'showsTransfer(outcome.logs, addressToHex(from), toHex)', 'toHex.length > 0'),
    test: market('is not measured of a token that answers true and moves nothing'),
  },
];
