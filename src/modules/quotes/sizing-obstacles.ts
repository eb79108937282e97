/** Reasons why token transfers cannot be measured, with texts for the operator. */

export const SIZING_OBSTACLES = [
  'no-token',
  'no-holder',
  'paused',
  'blacklisted',
  'refused',
  'no-event',
  'no-constant-calls',
  'no-node',
] as const;

/** `no-event`: a transfer succeeds without a Transfer event. `no-node`: no node answered. */
export type SizingObstacle = (typeof SIZING_OBSTACLES)[number];

interface ObstacleText {
  /** Completes "Token transfers cannot be measured: …". */
  readonly says: string;
  readonly todo: string;
}

export const OBSTACLE_TEXTS: Readonly<Record<SizingObstacle, ObstacleText>> = {
  'no-token': {
    says: 'the contract at TOKEN_CONTRACT does not answer balanceOf(address)',
    todo: 'Set TOKEN_CONTRACT to the token whose transfers you rent energy for, on this network.',
  },
  'no-holder': {
    says: 'no known address holds enough of the token',
    todo: 'Name one or more holders in SIZING_HOLDER.',
  },
  paused: {
    says: 'the token is paused by its owner',
    todo: 'Nothing to set: transfers are measured again once the token is unpaused.',
  },
  blacklisted: {
    says: 'the token has blacklisted every known holder',
    todo: 'Name a holder in SIZING_HOLDER that is not on the blacklist.',
  },
  refused: {
    says: 'the token refuses transfers of every known holder without a readable cause',
    todo: 'Simulate a transfer with `POST /v1/simulate`, and name a holder in SIZING_HOLDER that can send.',
  },
  'no-event': {
    says: 'a simulated transfer succeeds without a Transfer event, so nothing proves that tokens moved',
    todo: 'Use nodes in TRON_FULL_NODE_URLS that return the logs of constant calls, and a token that emits Transfer.',
  },
  'no-constant-calls': {
    says: 'the nodes run no constant calls',
    todo: 'Set vm.supportConstant = true in the configuration of the nodes, or use other nodes.',
  },
  'no-node': {
    says: 'no node ran the calls',
    todo: 'Fix the nodes first. If a node lacks CPU time, add another one.',
  },
};
