// Bugs in the rules of the local chain, each caught by one of its own tests. A chain that computes stake, votes or
// limits wrong misleads every rehearsal on it.
import { type PlantedBug, one } from './planted-bug.js';

const DEVNET = 'packages/devnet/src';

export const PLANTED_DEVNET: readonly PlantedBug[] = [
  {
    name: 'the local chain counts votes immediately',
    changes: one(
      `${DEVNET}/witnesses.ts`,
      'state.put(CHANGES_KEY, sums);',
      `state.put(
    WITNESSES_KEY,
    witnessesAt(state).map((each) => ({ ...each, votes: each.votes + (sums[each.address] ?? 0n) })),
  );`,
    ),
    test: {
      file: 'devnet/votes.test.ts',
      title: 'counts votes at maintenance only, and a new vote replaces all earlier ones',
    },
  },
  {
    name: 'the local chain keeps votes that unfreezing no longer covers',
    changes: one(
      `${DEVNET}/voting-power.ts`,
      'if (owned >= total * SUN_PER_TRX) return account;',
      'if (owned >= total) return account;',
    ),
    test: {
      file: 'devnet/votes.test.ts',
      title: 'unfreezing takes the votes that the rest no longer covers, in proportion and rounded down',
    },
  },
  {
    name: 'the local chain pays the running cycle by changed votes',
    changes: one(
      `${DEVNET}/rewards.ts`,
      'const votes = snapshot?.cycle === begin ? snapshot.votes : [];',
      'const votes = snapshot?.cycle === end ? snapshot.votes : [];',
    ),
    test: {
      file: 'devnet/rewards.test.ts',
      title: 'shares the pay among witnesses by votes, and a changed vote keeps the running cycle',
    },
  },
  {
    name: 'the local chain takes a lock by the other resource',
    changes: one(
      `${DEVNET}/delegating.ts`,
      'locked.expireMs[resource] < context.headMs ? locked.amount[resource] : 0n;',
      'locked.expireMs.ENERGY < context.headMs ? locked.amount[resource] : 0n;',
    ),
    test: { file: 'devnet/delegation.test.ts', title: 'locks each resource of a delegation by its own time' },
  },
  {
    name: 'the local chain leaves the usage of reclaimed stake with its receiver',
    changes: one(
      `${DEVNET}/delegating.ts`,
      'transferred = share < most ? share : most;',
      'transferred = share < most ? 0n : most;',
    ),
    test: {
      file: 'devnet/delegation.test.ts',
      title: 'a reclaim moves the share of the usage that belongs to the stake',
    },
  },
  {
    name: 'the local chain delegates bandwidth that its owner has used',
    changes: one(
      `${DEVNET}/delegating.ts`,
      'let used = increase(owner.usage[resource], 0n, context.slot).used;',
      "let used = resource === 'BANDWIDTH' ? 0n : increase(owner.usage[resource], 0n, context.slot).used;",
    ),
    test: {
      file: 'devnet/delegation.test.ts',
      title: 'the owner’s own transactions take bandwidth stake that can no longer be delegated',
    },
  },
  {
    name: 'the local chain pays with free bandwidth before staked bandwidth',
    changes: one(
      `${DEVNET}/fees.ts`,
      'if (useStaked(context, account, bytes) || useFree(context, account, bytes)) bill.netUsage = bytes;',
      'if (useFree(context, account, bytes) || useStaked(context, account, bytes)) bill.netUsage = bytes;',
    ),
    test: {
      file: 'devnet/delegation.test.ts',
      title: 'pays with staked bandwidth first, then free bandwidth, then TRX for all bytes',
    },
  },
  {
    name: 'the local chain lets a contract vote beyond its stake',
    changes: one(`${DEVNET}/contract-votes.ts`, 'if (wanted > power)', 'if (wanted < power && wanted > power)'),
    test: { file: 'devnet/contract-votes.test.ts', title: 'more votes than its TRON Power' },
  },
  {
    name: 'the local chain loses the reward of a contract that destroys itself',
    changes: one(
      `${DEVNET}/evm-operations.ts`,
      'if (survives && !isHeirless) endVotes(run, self);',
      'if (survives && isHeirless) endVotes(run, self);',
    ),
    test: {
      file: 'devnet/contract-votes.test.ts',
      title: 'a contract that destroys itself gives its reward to its heir, and its votes end',
    },
  },
  {
    name: 'the local chain tells a contract the reward of another account',
    changes: one(`${DEVNET}/evm.ts`, 'caller: run.caller,', 'caller: run.request.caller,'),
    test: {
      file: 'devnet/contract-votes.test.ts',
      title: 'a reward is that of the caller whom the code sees, in a delegated call the contract itself',
    },
  },
  {
    name: 'the local chain lets a length of VOTEWITNESS overflow',
    changes: one(`${DEVNET}/energy.ts`, 'osaka ? size : size % WORD_VALUES', 'size % WORD_VALUES'),
    test: {
      file: 'devnet/tron-opcodes.test.ts',
      title:
        'a length that overflows 256 bits is out of memory since Osaka, and costs little before (getVoteWitnessCost3)',
    },
  },
  {
    name: 'the local chain hides locked delegations from contracts',
    changes: one(
      `${DEVNET}/precompiled-stake.ts`,
      'return amountOf(false) + amountOf(true);',
      'return amountOf(false);',
    ),
    test: { file: 'devnet/stake-precompiles.test.ts', title: 'ResourceV2, locked and unlocked energy' },
  },
  {
    name: 'the local chain finds a precompiled contract behind foreign bits',
    changes: one(
      `${DEVNET}/evm.ts`,
      'precompileFor(run.calledWord ?? BigInt(address.toString()), run.rules',
      'precompileFor(BigInt(address.toString()), run.rules',
    ),
    test: {
      file: 'devnet/precompiles.test.ts',
      title:
        'a word with bits above the address names no precompiled contract (PrecompiledContracts.getContractForAddress)',
    },
  },
];
