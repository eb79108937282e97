/**
 * Requests and answers of the console's own routes: sign-in, people, teams, security. Types only, so that the pages can
 * import them. Members that do not apply are absent, never null; times are ISO 8601 in UTC.
 *
 *   GET  /api/session                                           → SessionAnswer; 401 SIGN_IN
 *   GET  /api/session/stream                                    → text/event-stream of SessionEvent
 *   POST /api/sign-in                      SignInRequest        → SessionAnswer; 401 WRONG_CREDENTIALS, 429
 *   POST /api/sign-in/second-factor        SecondFactorRequest  → SessionAnswer; 401 WRONG_CODE, SIGN_IN (attempt ended)
 *   GET  /api/notifications                                     → NotificationsAnswer
 *   POST /api/notifications                NotificationsRequest → NotificationsAnswer; 404, 422 NOT_ALLOWED_HERE
 *   POST /api/sign-out                     {}                   → Done
 *   POST /api/re-authenticate              ReauthenticateRequest → SessionAnswer; 401 WRONG_CREDENTIALS
 *   POST /api/invitations/read             InvitationToken      → InvitationAnswer; 404 INVITATION_NOT_FOUND
 *   POST /api/invitations/accept           AcceptRequest        → SessionAnswer; 401, 404, 422 PASSWORD_NOT_FIT
 *   GET  /api/security                                          → SecurityAnswer
 *   POST /api/security/password            PasswordRequest      → SessionAnswer; signs all other sessions out
 *   POST /api/security/address/send        {}                   → Done: a mail with the link that proves the address
 *   POST /api/security/address/prove       AddressProof         → Done; 404 for a link of another person, or too old
 *   POST /api/security/second-factor/begin {}                   → SecondFactorSecret
 *   POST /api/security/second-factor/confirm CodeRequest        → RecoveryCodesAnswer
 *   POST /api/security/second-factor/remove {}                  → SessionAnswer; 409 SECOND_FACTOR_REQUIRED
 *   POST /api/security/recovery-codes      {}                   → RecoveryCodesAnswer
 *   POST /api/security/sessions/:session_id/end {}              → Done
 *   POST /api/security/sessions/end-others {}                   → Done
 *   GET  /api/projects/:project_id/team                         → TeamAnswer
 *   POST /api/projects/:project_id/team/invitations InviteRequest (owner, member) → 201 InvitedAnswer; 409 ALREADY_A_MEMBER
 *   POST /api/projects/:project_id/team/invitations/:invitation_id/revoke {} → Done
 *   POST /api/projects/:project_id/team/:person_id/role RoleRequest → Done; 409 LAST_OWNER
 *   POST /api/projects/:project_id/team/:person_id/remove {}    → Done; 409 LAST_OWNER
 *   GET  /api/projects/:project_id/looks                        → LooksAnswer: when operators looked at the project
 *   GET  /api/people                                            → TeamAnswer, of the operators
 *   POST /api/people/invitations           InviteRequest (admin, support) → 201 InvitedAnswer
 *   POST /api/people/invitations/:invitation_id/revoke {}       → Done
 *   POST /api/people/:person_id/role       RoleRequest          → Done; 409 LAST_OWNER
 *   POST /api/people/:person_id/remove     {}                   → Done; 409 LAST_OWNER
 *   POST /api/people/:person_id/end-sessions {}                 → Done
 *   POST /api/people/:person_id/reset-second-factor {}          → Done
 *
 * Every POST has a JSON body, `{}` if there are no members. Some routes need a password given within the last ten minutes.
 * They answer an older session with 403 SIGN_IN_AGAIN: re-authenticate and repeat. A request that a page makes by itself
 * (polling) carries `X-Background: 1` and does not prolong the session.
 */

import type { Audience, OperatorRole, PersonRole, ProjectRole } from '../../domain/audience.js';
import type { NotificationKind } from '../../domain/notification-kinds.js';

export type { Audience, OperatorRole, PersonRole, ProjectRole };

/** The act succeeded; there is no further content. */
export interface Done {
  readonly done: true;
}

export interface SignInRequest {
  readonly email: string;
  readonly password: string;
}

/** Exactly one of the two. */
export interface SecondFactorRequest {
  /** Six digits. */
  readonly code?: string;
  readonly recovery_code?: string;
}

/** `code` is required if the person has a second factor. */
export interface ReauthenticateRequest {
  readonly password: string;
  readonly code?: string;
}

export interface ProjectMembership {
  readonly id: string;
  readonly name: string;
  readonly role: ProjectRole;
  readonly test?: true;
  readonly frozen?: true;
}

/** Facts for merchants about the service; absent as far as the operator has not set them. */
export interface ServiceFacts {
  /** The base URL of the API, without a trailing slash. */
  readonly api_url?: string;
  /** An e-mail address or an https URL. */
  readonly contact?: string;
}

/**
 * The next step of a sign-in. `second_factor` needs a code (POST /api/sign-in/second-factor). `enrol` needs the setup
 * of a second factor (begin, confirm), because a role of this person requires one. Until `signed_in` every other route
 * answers 403 SECOND_FACTOR.
 */
export type SessionStage = 'second_factor' | 'enrol' | 'signed_in';

export interface SessionAnswer {
  readonly stage: SessionStage;
  readonly audience: Audience;
  readonly person: { readonly id: string; readonly email: string };
  /** For operators. */
  readonly operator_role?: OperatorRole;
  /** For merchants, once signed in. */
  readonly projects?: readonly ProjectMembership[];
  readonly service?: ServiceFacts;
  /** The end of the session without further use, and its latest end. */
  readonly idle_until: string;
  readonly expires_at: string;
  /** Until then, routes that need a fresh sign-in work without another one. */
  readonly reauthenticated_until?: string;
  /** The server's time of the answer. */
  readonly now: string;
}

/** `ended`: the session is over; sign in again. */
export interface SessionEvent {
  readonly type: 'open' | 'ended';
}

/** The token is in the link's fragment (`/invitation#<token>`), which no server receives. */
export interface InvitationToken {
  readonly token: string;
}

export interface InvitationAnswer {
  readonly email: string;
  readonly audience: Audience;
  readonly role: PersonRole;
  readonly project?: { readonly id: string; readonly name: string };
  readonly expires_at: string;
  /**
   * True: ask for the account's password; false: ask for a new one. Always false for a link that its inviter saw,
   * because only the invited person may learn of an account.
   */
  readonly has_account: boolean;
}

/** `password`: a new one of at least 12 characters, or the present one of an existing account. */
export interface AcceptRequest extends InvitationToken {
  readonly password: string;
}

export interface PasswordRequest {
  readonly current_password: string;
  readonly new_password: string;
}

export interface CodeRequest {
  readonly code: string;
}

export interface SecondFactorSecret {
  /** Base32, to type into an authenticator. */
  readonly secret: string;
  /** otpauth://totp/…, for a QR code drawn in the page. */
  readonly url: string;
}

/** Ten codes, shown once; they replace all earlier ones. */
export interface RecoveryCodesAnswer {
  readonly recovery_codes: readonly string[];
  readonly session: SessionAnswer;
}

export interface SessionItem {
  readonly id: string;
  readonly is_current: boolean;
  readonly signed_in_at: string;
  readonly last_seen_at: string;
  readonly source_address: string;
  readonly user_agent: string;
}

export interface SecurityAnswer {
  readonly email: string;
  readonly password_changed_at: string;
  readonly second_factor: {
    readonly is_on: boolean;
    /** True if a role of this person requires the second factor; it then cannot be removed. */
    readonly is_required: boolean;
    readonly since?: string;
    readonly recovery_codes_left: number;
  };
  readonly sessions: readonly SessionItem[];
}

export interface TeamMember {
  readonly person_id: string;
  readonly email: string;
  readonly role: PersonRole;
  readonly has_second_factor: boolean;
  readonly is_address_proven: boolean;
  readonly since: string;
  readonly last_seen_at?: string;
  readonly is_me: boolean;
}

export interface InvitationItem {
  readonly id: string;
  readonly email: string;
  readonly role: PersonRole;
  readonly invited_by: string;
  readonly expires_at: string;
}

export interface TeamAnswer {
  readonly members: readonly TeamMember[];
  /** Only open ones. */
  readonly invitations: readonly InvitationItem[];
}

export interface InviteRequest {
  readonly email: string;
  readonly role: PersonRole;
}

/** The link works for 24 hours, for one person. */
export interface InvitedAnswer {
  readonly invitation: InvitationItem;
  /** True if the link was mailed, to the invited address only. */
  readonly mailed: boolean;
  /** Shown once, if there is no mail server. */
  readonly link?: string;
}

/** The part after the # of the link in the mail. */
export interface AddressProof {
  readonly token: string;
}

export interface RoleRequest {
  readonly role: PersonRole;
}

export interface LooksAnswer {
  /** The last 200 looks, newest first, with operator and subject. */
  readonly looks: readonly { readonly at: string; readonly by: string; readonly what: string }[];
}

/** Choices for one project of the person, or for the service if an operator. */
export interface NotificationChoice {
  readonly project_id?: string;
  readonly kinds: readonly NotificationKind[];
  readonly last_mail_at?: string;
  /** Mails are failing at present and will be retried. */
  readonly failing?: { readonly since: string; readonly fault: string };
  /** Number of notifications that were never mailed, because mails failed for a day or the address was refused. */
  readonly given_up?: { readonly at: string; readonly count: number; readonly fault: string };
}

/** Replaces the choices for one project, or those of an operator, who names no project. */
export interface NotificationsRequest {
  readonly project_id?: string;
  readonly kinds: readonly NotificationKind[];
}

export interface NotificationsAnswer {
  /** The person's own address, which receives the mails. */
  readonly email: string;
  /** Nothing is mailed until the address is proven: POST /api/security/address/send. */
  readonly must_prove_address?: true;
  readonly is_mail_set_up: boolean;
  readonly mails_per_hour: number;
  readonly choices: readonly NotificationChoice[];
}
