/**
 * What the console's own routes take and answer: signing in, people, teams, security. Types alone, so that the pages
 * can import them. A member that does not apply is absent, never null; moments are ISO 8601 in UTC.
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
 * Every POST has a JSON body, `{}` where nothing is said. Of what asks for it, a session whose password was given more
 * than ten minutes ago is answered 403 SIGN_IN_AGAIN: re-authenticate and repeat. A request that a page makes by
 * itself (polling) carries `X-Background: 1` and keeps no session alive.
 */

import type { Audience, OperatorRole, PersonRole, ProjectRole } from '../domain/audience.js';
import type { NotificationKind } from '../domain/notification-kinds.js';

export type { Audience, OperatorRole, PersonRole, ProjectRole };

/** Done, and nothing more to say. */
export interface Done {
  readonly done: true;
}

export interface SignInRequest {
  readonly email: string;
  readonly password: string;
}

/** One of the two. */
export interface SecondFactorRequest {
  /** Six digits. */
  readonly code?: string;
  readonly recovery_code?: string;
}

/** `code` where the person has a second factor. */
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

/**
 * What comes next: `second_factor` asks for a code (POST /api/sign-in/second-factor), `enrol` for a second factor to be
 * set up (begin, confirm), since a role of this person needs one. Until `signed_in` every other route answers 403 SECOND_FACTOR.
 */
export type SessionStage = 'second_factor' | 'enrol' | 'signed_in';

export interface SessionAnswer {
  readonly stage: SessionStage;
  readonly audience: Audience;
  readonly person: { readonly id: string; readonly email: string };
  /** Of operators. */
  readonly operator_role?: OperatorRole;
  /** Of merchants, once signed in. */
  readonly projects?: readonly ProjectMembership[];
  /** When the session ends if nothing more is asked for, and when at the latest. */
  readonly idle_until: string;
  readonly expires_at: string;
  /** Until then what asks for a fresh sign-in is taken without one. */
  readonly reauthenticated_until?: string;
  /** The server's clock as it answered. */
  readonly now: string;
}

/** `ended`: the session is over, sign in again. */
export interface SessionEvent {
  readonly type: 'open' | 'ended';
}

/** The token stands in the link's fragment (`/invitation#<token>`), which no server sees. */
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
   * Ask for the password of the account, else for a new one. Always false for a link that its inviter saw: who has an
   * account is answered to nobody else.
   */
  readonly has_account: boolean;
}

/** `password`: a new one of at least 12 characters, or the present one of who has an account. */
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
  /** Base32, as it is typed into an authenticator. */
  readonly secret: string;
  /** otpauth://totp/…, for a QR code drawn in the page. */
  readonly url: string;
}

/** Ten, shown once; they replace all before. */
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
    /** A role of this person needs it, so it cannot be removed. */
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
  /** Open ones. */
  readonly invitations: readonly InvitationItem[];
}

export interface InviteRequest {
  readonly email: string;
  readonly role: PersonRole;
}

/** The link works for 24 hours, for one person. */
export interface InvitedAnswer {
  readonly invitation: InvitationItem;
  /** It went to the invited address, and to nobody else. */
  readonly mailed: boolean;
  /** Shown once, where there is no mail server. */
  readonly link?: string;
}

/** What stands behind the # of the link in the mail. */
export interface AddressProof {
  readonly token: string;
}

export interface RoleRequest {
  readonly role: PersonRole;
}

export interface LooksAnswer {
  /** Newest first, the last 200: who looked, at what. */
  readonly looks: readonly { readonly at: string; readonly by: string; readonly what: string }[];
}

/** Of one project that the person is in, or of the service for an operator. */
export interface NotificationChoice {
  readonly project_id?: string;
  readonly kinds: readonly NotificationKind[];
  readonly last_mail_at?: string;
  /** Mails are not taken just now; they are tried again. */
  readonly failing?: { readonly since: string; readonly fault: string };
  /** So many things were in no mail, since none was taken for a day, or the address was refused. */
  readonly given_up?: { readonly at: string; readonly count: number; readonly fault: string };
}

/** Replaces what was chosen for one project, or by an operator, who names none. */
export interface NotificationsRequest {
  readonly project_id?: string;
  readonly kinds: readonly NotificationKind[];
}

export interface NotificationsAnswer {
  /** Where mails go: the person's own address. */
  readonly email: string;
  /** Nothing is mailed before the address is proven: POST /api/security/address/send. */
  readonly must_prove_address?: true;
  readonly is_mail_set_up: boolean;
  readonly mails_per_hour: number;
  readonly choices: readonly NotificationChoice[];
}
