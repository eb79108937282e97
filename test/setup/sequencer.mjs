// The order of the files: those that take longest come first, so that none of them is alone at the end. Jest remembers
// how long each took, but not on a machine that has never run them. A list that is no longer true costs time, nothing else.
import { basename } from 'node:path';
import Sequencer from '@jest/test-sequencer';

const LONGEST = [
  'reconciler',
  'fulfilment',
  'fulfilment-protocol',
  'orders-races',
  'extensions',
  'auto-delegation-refills',
  'cli-orders',
  'foreign-acts',
  'fulfilment-guards',
  'ledger',
  'quotes',
  'chain',
  'orders-model',
  'orders',
  'crash',
  'verify',
  'held-rows',
  'stop',
  'examples',
  'start',
  'deploy',
  'operating-walk',
  'pipeline-projects',
  'events-streams',
  'foreign-ends',
  'unrecorded-acts',
  'auto-delegation-nodes',
  'merchant-pages',
  'market',
  'deposits-worst',
  'crash-deposits',
  'crash-refills',
  'replay',
  'rates',
];

/** Smaller is earlier. */
function rankOf({ path }) {
  const place = LONGEST.indexOf(basename(path, '.test.ts'));
  return place === -1 ? LONGEST.length : place;
}

export default class extends Sequencer {
  sort(tests) {
    return super.sort(tests).sort((one, other) => rankOf(one) - rankOf(other));
  }
}
