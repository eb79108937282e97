// The doctor's judgement of a node's release, by what the node reports.
import { compareReleases, judgeReport, type NodeReport } from '../../../src/modules/diagnostics/doctor-releases.js';

const NEWEST = new Map([['getAllowTvmOsaka', 0n]]);
const OLDER = new Map([['getAllowTvmCancun', 1n]]);

const stateOf = (report: Partial<NodeReport>, isMainNetwork: boolean) => {
  const defaults: NodeReport = { name: 'a:8090', release: '4.8.2', peers: 5n, isSyncing: false, switches: NEWEST };
  return judgeReport({ ...defaults, ...report }, isMainNetwork).find(({ check }) => check === 'release a:8090')?.state;
};

test('orders releases by their numbers', () => {
  const sorted = ['4.8.10', '4.7.7', '4.8.0.1', '4.8.2', '4.8', '4.10.0', '4.8.1'].sort(compareReleases);
  expect(sorted).toEqual(['4.7.7', '4.8', '4.8.0.1', '4.8.1', '4.8.2', '4.8.10', '4.10.0']);
  expect(compareReleases('4.8', '4.8.0')).toBe(0);
});

test.each([
  ['4.8.2', 'ok', 'ok'],
  ['4.8.2.1', 'ok', 'ok'],
  ['4.9.0', 'ok', 'ok'],
  ['4.8.1', 'warning', 'fault'],
  ['4.8.0.1', 'warning', 'fault'],
  ['4.8.0', 'warning', 'fault'],
  ['4.7.7', 'fault', 'fault'],
  ['3.7', 'fault', 'fault'],
])('release %s is %s on a private network and %s on the main network', (release, elsewhere, onMain) => {
  expect([stateOf({ release }, false), stateOf({ release }, true)]).toEqual([elsewhere, onMain]);
});

test('a node that hides its release is judged by its chain parameters', () => {
  expect(stateOf({ release: undefined, switches: OLDER }, true)).toBe('fault');
  expect(stateOf({ release: undefined, switches: OLDER }, false)).toBe('warning');
  expect(stateOf({ release: undefined }, true)).toBe('warning');
  expect(stateOf({ release: undefined, switches: undefined }, true)).toBe('warning');
});

test('a release without its own chain parameters is a warning', () => {
  expect(stateOf({ switches: OLDER }, true)).toBe('warning');
  expect(stateOf({ switches: undefined }, true)).toBe('ok');
});
