/** Shapes of "Why did it burn?" in the consoles. */

/** POST …/explanations: a request to explain a transaction. */
export interface AskExplanation {
  readonly txid: string;
}

export interface AskedExplanation {
  readonly id: string;
}

/**
 * GET …/explanations/:id. Answered without `answer` and `error`: no node knows the transaction, or it concerns no order.
 * `error`: the code of the error that replaces an answer.
 */
export interface ExplanationShape {
  readonly answered: boolean;
  readonly answer?: ExplainedTransaction;
  readonly error?: string;
}

/** The shown members of an explanation, as GET /v1/explain/{txid} answers them. */
export interface ExplainedTransaction {
  readonly sentence: string;
  readonly solid: boolean;
  readonly owner_address: string;
  readonly receive_address: string;
  readonly contract_address?: string;
  readonly to_address?: string;
  readonly result?: string;
  readonly block_number?: number;
  readonly block_timestamp?: string;
  readonly energy_used?: number;
  readonly staked_energy?: number;
  readonly deployer_energy?: number;
  readonly burnt_energy?: number;
  readonly energy_burn_sun?: number;
  readonly bandwidth_burn_sun?: number;
  readonly activation_burn_sun?: number;
  readonly total_burn_sun?: number;
  readonly fee_limit_sun?: number;
  readonly causes: readonly ExplainedCause[];
  readonly rentals: readonly ExplainedRental[];
}

export interface ExplainedCause {
  readonly code: string;
  readonly sentence: string;
  readonly next: string;
  readonly burn_sun: number;
  readonly order_key?: string;
  readonly txid?: string;
}

export interface ExplainedRental {
  readonly order_key: string;
  readonly running_energy: number;
  readonly later_energy: number;
  readonly ended_energy: number;
}
