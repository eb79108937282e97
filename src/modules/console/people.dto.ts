/** Request bodies of the console's routes. */
import { PERSON_ROLES_TEXT } from '../../domain/audience.js';
import { EMAIL_ADDRESS } from '../../domain/email-address.js';
import { IsText, Optional } from '../../platform/http/body/member-rules.js';
import { PASSWORD_LENGTH_MAX } from '../people/passwords.js';
import { emailOf } from '../people/sign-in.js';
import type { PersonRole } from '../../domain/audience.js';
import type {
  AcceptRequest,
  AddressProof,
  CodeRequest,
  InviteRequest,
  InvitationToken,
  PasswordRequest,
  ReauthenticateRequest,
  RoleRequest,
  SecondFactorRequest,
  SignInRequest,
} from './api-shapes.js';

const EMAIL_LENGTH_MAX = 254;
const IsEmail = (description: string) =>
  IsText({
    maxLength: EMAIL_LENGTH_MAX,
    check: (text) => (EMAIL_ADDRESS.test(emailOf(text)) ? undefined : 'must be an e-mail address'),
    description,
  });
const IsPassword = (description: string) => IsText({ maxLength: PASSWORD_LENGTH_MAX, description });
const IsCode = (description: string) =>
  IsText({ maxLength: 6, check: (text) => (/^\d{6}$/.test(text) ? undefined : 'must be six digits'), description });
const IsRole = (description: string) =>
  IsText({
    maxLength: 16,
    check: (text) => (PERSON_ROLES_TEXT.includes(text) ? undefined : `must be one of ${PERSON_ROLES_TEXT.join(', ')}`),
    description,
  });

export class SignInBody implements SignInRequest {
  // Checks only the length: an invalid address counts as an unknown account.
  @IsText({ maxLength: EMAIL_LENGTH_MAX, description: 'The e-mail of the account.' })
  declare readonly email: string;

  @IsPassword('Its password.')
  declare readonly password: string;
}

export class SecondFactorBody implements SecondFactorRequest {
  @Optional()
  @IsCode('The code that the authenticator shows.')
  declare readonly code?: string;

  @Optional()
  @IsText({ maxLength: 40, description: 'One of the recovery codes, in the place of a code.' })
  declare readonly recovery_code?: string;
}

export class ReauthenticateBody implements ReauthenticateRequest {
  @IsPassword('The password.')
  declare readonly password: string;

  @Optional()
  @IsCode('The code, where there is a second factor.')
  declare readonly code?: string;
}

export class InvitationTokenBody implements InvitationToken {
  @IsText({ maxLength: 64, description: 'The part of the link after #.' })
  declare readonly token: string;
}

export class AcceptBody extends InvitationTokenBody implements AcceptRequest {
  @IsPassword('A new password, or the present one of a person with an account.')
  declare readonly password: string;
}

export class PasswordBody implements PasswordRequest {
  @IsPassword('The password until now.')
  declare readonly current_password: string;

  @IsPassword('The password from now on.')
  declare readonly new_password: string;
}

export class AddressBody implements AddressProof {
  @IsText({ maxLength: 400, description: 'The part of the link after #.' })
  declare readonly token: string;
}

export class CodeBody implements CodeRequest {
  @IsCode('The code that the authenticator shows.')
  declare readonly code: string;
}

export class InviteBody implements InviteRequest {
  @IsEmail('E-mail of the invited person.')
  declare readonly email: string;

  @IsRole('Role of the invited person.')
  declare readonly role: PersonRole;
}

export class RoleBody implements RoleRequest {
  @IsRole('Role of the invited person.')
  declare readonly role: PersonRole;
}
