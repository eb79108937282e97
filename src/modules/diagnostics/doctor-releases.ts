/** The doctor's checks of the nodes' releases, peers and fork switches. Reads only. */
import { NodeError } from '../../platform/chain/errors.js';
import { int64, isJsonObject, objectsOf, type JsonObject } from '../../platform/chain/json.js';
import type { TronNode } from '../../platform/chain/node.js';
import { fault, ok, warning, type DoctorFinding } from './doctor-finding.js';

/** The oldest release that the service is made for, and the one that the main network requires since July 2026. */
const OLDEST_RELEASE = '4.8.0';
const REQUIRED_RELEASE = '4.8.2';
/** TRON: a fork switch that java-tron lists since 4.8.2, whatever its value. */
const NEWEST_SWITCH = 'getAllowTvmOsaka';
const RELEASE = /^\d{1,4}(?:\.\d{1,4}){1,3}/;
const UPGRADE = `Upgrade it to java-tron ${REQUIRED_RELEASE} (docs/operating/your-node.md).`;
const DIFFERENCES_SHOWN = 3;

/** A node's report of itself. A member is undefined if the node does not report it. */
export interface NodeReport {
  readonly name: string;
  readonly release: string | undefined;
  readonly peers: bigint | undefined;
  /** True if the node has to fetch blocks from every one of its peers. */
  readonly isSyncing: boolean;
  /** The chain parameters that switch rules of the chain on. */
  readonly switches: ReadonlyMap<string, bigint> | undefined;
}

/** Reads the report of a node. A hosted node may refuse either request. */
export async function readReport(node: TronNode): Promise<NodeReport> {
  const info = await answerOf(node, 'wallet/getnodeinfo');
  const config = info?.['configNodeInfo'];
  const release = isJsonObject(config) ? config['codeVersion'] : undefined;
  const peers = objectsOf(info?.['peerList']);
  const count = info?.['currentConnectCount'];
  return {
    name: node.name,
    release: typeof release === 'string' ? RELEASE.exec(release)?.[0] : undefined,
    peers: count === undefined ? undefined : int64(count),
    isSyncing: peers.length > 0 && peers.every((peer) => peer['needSyncFromPeer'] === true),
    switches: switchesIn(await answerOf(node, 'wallet/getchainparameters')),
  };
}

async function answerOf(node: TronNode, path: string): Promise<JsonObject | undefined> {
  try {
    return await node.postFull(path, {});
  } catch (error) {
    if (!(error instanceof NodeError)) throw error;
    return undefined;
  }
}

function switchesIn(json: JsonObject | undefined): ReadonlyMap<string, bigint> | undefined {
  const entries = objectsOf(json?.['chainParameter']);
  if (entries.length === 0) return undefined;
  return new Map(
    entries.flatMap(({ key, value }) =>
      typeof key === 'string' && key.startsWith('getAllow') ? [[key, int64(value) ?? -1n] as const] : [],
    ),
  );
}

/** Checks one node. `isMainNetwork`: its chain is the main network, which requires a release. */
export function judgeReport(report: NodeReport, isMainNetwork: boolean): DoctorFinding[] {
  return [judgeRelease(report, isMainNetwork), ...judgePeers(report)];
}

function judgeRelease({ name, release, switches }: NodeReport, isMainNetwork: boolean): DoctorFinding {
  const check = `release ${name}`;
  const isMissingSwitch = switches !== undefined && !switches.has(NEWEST_SWITCH);
  if (release === undefined) {
    if (isMissingSwitch) return outdated(check, `It lacks the chain parameter ${NEWEST_SWITCH}`, isMainNetwork);
    return warning(
      check,
      'It does not report its release (wallet/getnodeinfo).',
      `Ask its operator for the release; it should be java-tron ${REQUIRED_RELEASE}.`,
    );
  }
  if (compareReleases(release, OLDEST_RELEASE) < 0) {
    const says = `It runs java-tron ${release}. The service needs ${OLDEST_RELEASE} or newer.`;
    return fault(check, says, UPGRADE);
  }
  if (compareReleases(release, REQUIRED_RELEASE) < 0)
    return outdated(check, `It runs java-tron ${release}`, isMainNetwork);
  if (isMissingSwitch) {
    const says = `It reports java-tron ${release} but lacks the chain parameter ${NEWEST_SWITCH} of that release.`;
    const todo = 'Several nodes of different releases seem to share its URL. Give each node its own URL.';
    return warning(check, says, todo);
  }
  return ok(check, `It runs java-tron ${release}.`);
}

function outdated(check: string, says: string, isMainNetwork: boolean): DoctorFinding {
  if (isMainNetwork)
    return fault(check, `${says}. The main network requires ${REQUIRED_RELEASE} since July 2026.`, UPGRADE);
  const risk = `${says}, so it is older than ${REQUIRED_RELEASE}. Contracts may use other energy there or fail.`;
  return warning(check, risk, UPGRADE);
}

function judgePeers({ name, peers, isSyncing }: NodeReport): DoctorFinding[] {
  const check = `peers ${name}`;
  if (peers === 0n) {
    const says = 'It has no peers, so it gets no blocks of others and refuses broadcasts (NO_CONNECTION).';
    const todo = 'Open its node.listen.port (18888), and check node.discovery.enable and seed.node.ip.list.';
    return [warning(check, says, todo)];
  }
  if (isSyncing) {
    const says = 'It is still fetching old blocks from all its peers.';
    const todo = 'Wait until it has caught up, or start it from a snapshot (docs/operating/your-node.md).';
    return [warning(check, says, todo)];
  }
  return peers === undefined ? [] : [ok(check, `It has ${peers.toString()} peers and is in sync with them.`)];
}

/** Compares all nodes with each other. */
export function compareReports(reports: readonly NodeReport[]): DoctorFinding[] {
  return [...compareByRelease(reports), ...compareSwitches(reports)];
}

function compareByRelease(reports: readonly NodeReport[]): DoctorFinding[] {
  const known = reports.filter(({ release }) => release !== undefined);
  if (new Set(known.map(({ release }) => release)).size < 2) return [];
  const list = known.map(({ name, release = '' }) => `${release} at ${name}`).join(', ');
  const todo = `Run java-tron ${REQUIRED_RELEASE} on all of them: nodes of different releases can disagree about energy.`;
  return [warning('releases', `The nodes run different releases: ${list}.`, todo)];
}

function compareSwitches(reports: readonly NodeReport[]): DoctorFinding[] {
  const known = reports.flatMap(({ name, switches }) => (switches === undefined ? [] : [{ name, switches }]));
  const keys = [...new Set(known.flatMap(({ switches }) => [...switches.keys()]))].sort();
  const differing = keys.filter((key) => new Set(known.map(({ switches }) => switches.get(key))).size > 1);
  if (differing.length === 0) return [];
  const shown = differing.slice(0, DIFFERENCES_SHOWN).map((key) => {
    const values = known.map(({ name, switches }) => `${switches.get(key)?.toString() ?? 'absent'} at ${name}`);
    return `${key} is ${values.join(', ')}`;
  });
  const rest = differing.length - shown.length;
  const more = rest > 0 ? ` (and ${rest.toString()} more)` : '';
  const todo =
    'They run different releases, or one is behind a vote of the committee. Upgrade the older one, or let it catch up.';
  return [warning('fork switches', `The nodes follow different rules: ${shown.join('; ')}${more}.`, todo)];
}

/** Compares dotted releases by their numbers: negative if `one` is older. */
export function compareReleases(one: string, other: string): number {
  const [left, right] = [one, other].map((release) => release.split('.').map(Number));
  for (let at = 0; at < 4; at += 1) {
    const difference = (left?.[at] ?? 0) - (right?.[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
