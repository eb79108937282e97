/** Answers about the service itself for operators: nodes, workers, checks and acts, from stored records. */
import type { AuditShape } from './integration-shapes.js';

/** `GET /system`. Sends no requests to nodes, Redis or processes; `doctor` checks those. */
export interface SystemShape {
  readonly checked_at: string;
  readonly nodes: readonly NodeUse[];
  /** Number of the newest sends that `nodes` was computed from. */
  readonly sends_counted: number;
  readonly chain: {
    readonly block_number?: number;
    readonly block_at?: string;
    readonly blocks_read_at?: string;
    readonly figures_read_at?: string;
    readonly rate_read_at?: string;
    /** Blocks that no node has shown yet. */
    readonly unsearched_blocks: number;
  };
  readonly work: readonly WorkLine[];
  readonly findings: readonly SystemFinding[];
  readonly verify: {
    readonly passed_at?: string;
    readonly searched_at?: string;
    readonly stop?: { readonly reason: string; readonly since: string; readonly findings: readonly KeptDisagreement[] };
    /** The newest hundred. */
    readonly explained: readonly (KeptDisagreement & {
      readonly by: string;
      readonly reason: string;
      readonly at: string;
    })[];
  };
}

/** A node's answers to transactions that were sent to it. */
export interface NodeUse {
  readonly node: string;
  readonly sends: number;
  readonly taken: number;
  readonly last_at: string;
  /** The last answer that was not an acceptance. */
  readonly last_refusal?: { readonly answer: string; readonly at: string };
}

export interface WorkLine {
  readonly what: 'orders' | 'pool' | 'events' | 'webhooks' | 'auto_delegations' | 'rules' | 'blocks';
  /** Counted to a thousand. */
  readonly waiting?: number;
  /** Age of the oldest waiting work, or time since the work was last done. */
  readonly age_sec?: number;
  readonly late: boolean;
}

export interface SystemFinding {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'fault';
  readonly says: string;
  readonly todo?: string;
}

export interface KeptDisagreement {
  readonly check: string;
  readonly subject: string;
  readonly fingerprint: string;
}

/**
 * `GET /audit?by=&kind=&action=&subject=&project=&from=&to=&looks=` → `Page<ServiceAct>`, newest first; `/audit.csv` the
 * same as a file. Without `looks=true`, the acts that only say that a person looked at a project are left out.
 */
export interface ServiceAct extends AuditShape {
  /** The project that the act was on, also by an order or a deposit of it. */
  readonly project?: { readonly id: string; readonly name: string };
  /** The e-mail address of the person that the act was on. */
  readonly person?: string;
  /** The database login of the actor, recorded by the database itself. */
  readonly role?: string;
}
