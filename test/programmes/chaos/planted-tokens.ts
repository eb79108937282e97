// Planted bugs in the token of deposits, and in the effects of its owner's transactions.
import { one, type NamedTest, type PlantedBug } from './planted-bug.js';

const TOKENS = 'modules/deposits/deposit-tokens.ts';

const token = (title: string): NamedTest => ({ file: 'integration/deposits/deposits-token.test.ts', title });

const acts = (title: string): NamedTest => ({ file: 'integration/deposits/deposits-owner-acts.test.ts', title });

export const PLANTED_TOKENS: readonly PlantedBug[] = [
  {
    name: 'a worker reads on with another token than that of the deposits',
    changes: one(TOKENS, 'this.refuseUnless(isKnown ? tokenContract : history.current, history);', 'void isKnown;'),
    test: token('stops a worker’s reading, and names the token of deposits'),
  },
  {
    name: 'a command acts with another token than that of the deposits',
    changes: one(TOKENS, 'this.refuseUnless(history.current, history);', 'void history;'),
    test: token('lets no command credit, sweep or return, and a rescan records nothing of the other token'),
  },
  {
    name: 'a deposit is kept without its token',
    changes: one(
      'modules/deposits/deposit-rows.ts',
      'column(({ payment }) => payment.contract ?? null)',
      'column(() => null)',
    ),
    test: token('is stored with its token, and verify finds one of another token'),
  },
  {
    name: 'verify does not compare the token of a deposit',
    changes: one(
      'modules/verify/deposit-checks.ts',
      'coalesce(d.contract, f.contract) IS DISTINCT FROM t.contract',
      'coalesce(t.contract, f.contract) IS DISTINCT FROM t.contract',
    ),
    test: token('is stored with its token, and verify finds one of another token'),
  },
  {
    name: 'what is paid to a blacklisted address is credited',
    changes: one(
      'modules/deposits/deposit-judge.ts',
      "if (asset === 'USDT' && this.blacklist.has(candidate.address)) return held('blacklisted');",
      '',
    ),
    test: acts('is held, and credited once the address may send again'),
  },
  {
    name: 'what was held for a blacklist stays held',
    changes: one('modules/deposits/deposit-reader.ts', '() => this.depositBook.releaseUnlisted(fence),', ''),
    test: acts('is held, and credited once the address may send again'),
  },
  {
    name: 'a held sum is released without its small ones',
    changes: one(
      'modules/deposits/deposit-book.ts',
      'await readHeldWith(tx, key)',
      'await readHeldWith(tx, `${key} `)',
    ),
    test: acts('that reaches the minimum with small ones holds all of them, and all are credited in one entry'),
  },
  {
    name: 'destroyed funds are not recorded',
    changes: one(
      'modules/deposits/block-payments.ts',
      'movements.push(...destroyedBy(payment, tokens));',
      'void destroyedBy;',
    ),
    test: acts('are a movement: the audit agrees, and verify reports no theft'),
  },
  {
    name: 'destroyed funds are credited when the blacklist ends',
    changes: one('modules/deposits/deposit-book.ts', 'if (row.is_destroyed)', 'if (false)'),
    test: acts('are not credited when the address may send again'),
  },
  {
    name: 'any contract is accepted as a successor',
    changes: one('modules/deposits/token-succession.ts', 'if (!state.isDeprecated)', 'if (state.isPaused)'),
    test: acts('has its successor accepted only by the chain’s evidence, and a rescan records payments since then'),
  },
  {
    name: 'a successor counts from any block that is named',
    changes: one(
      'modules/deposits/token-succession.ts',
      'if (await isDeprecatedIn(node, Number(fromBlock), { contract, successor })) return;',
      'if (isDeprecatedIn !== undefined) return;',
    ),
    test: acts('has its successor accepted only by the chain’s evidence, and a rescan records payments since then'),
  },
  {
    name: 'the doctor leaves out what the owner of the token has set',
    changes: one('modules/diagnostics/doctor-chain.ts', ', ...(await checkOwnerActs(tron, token))]', ']'),
    test: acts('the doctor names the owner’s settings, and the reason why transfers cannot be measured'),
  },
  {
    name: 'the doctor does not say that transfers cannot be measured',
    changes: one(
      'modules/diagnostics/doctor-sizing.ts',
      "if (typeof measured === 'string') return [obstructed(measured)];",
      "if (typeof measured === 'string') return [];",
    ),
    test: acts('the doctor names the owner’s settings, and the reason why transfers cannot be measured'),
  },
  {
    name: 'the blacklist is not asked about payments that waited for a rate',
    changes: one(
      'modules/deposits/deposit-book.ts',
      `asset === 'USDT' ? [address] : []`,
      `asset === 'TRX' ? [address] : []`,
    ),
    test: {
      file: 'integration/deposits/deposits-listed.test.ts',
      title:
        'a payment that waited for a rate is held for its blacklisted address, though many of another project wait too',
    },
  },
];
