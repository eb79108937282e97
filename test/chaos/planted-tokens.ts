// Bugs in which token deposits are paid in, and in what its owner does.
import { one, type NamedTest, type PlantedBug } from './planted-bug.js';

const TOKENS = 'deposits/deposit-tokens.ts';

const token = (title: string): NamedTest => ({ file: 'integration/deposits-token.test.ts', title });

export const PLANTED_TOKENS: readonly PlantedBug[] = [
  {
    name: 'a worker reads on with another token than that of the deposits',
    changes: one(TOKENS, 'this.refuseUnless(isKnown ? tokenContract : history.current, history);', 'void isKnown;'),
    test: token('keeps a worker from reading'),
  },
  {
    name: 'a command acts with another token than that of the deposits',
    changes: one(TOKENS, 'this.refuseUnless(history.current, history);', 'void history;'),
    test: token('lets no command credit, sweep or give back'),
  },
  {
    name: 'a deposit is kept without its token',
    changes: one('deposits/deposit-rows.ts', 'column(({ payment }) => payment.contract ?? null)', 'column(() => null)'),
    test: token('is kept with the token it was paid in'),
  },
  {
    name: 'verify does not compare the token of a deposit',
    changes: one(
      'verify/deposit-checks.ts',
      'coalesce(d.contract, f.contract) IS DISTINCT FROM t.contract',
      'coalesce(t.contract, f.contract) IS DISTINCT FROM t.contract',
    ),
    test: token('is kept with the token it was paid in'),
  },
];
