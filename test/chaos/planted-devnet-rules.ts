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
];
