/** The number of sign-in guesses within a window, for an account, a known device or a network address. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { TIMESTAMPTZ } from '../columns.js';

@Entity('sign_in_guess')
export class SignInGuess {
  @PrimaryColumn({ type: 'bytea' })
  key!: Buffer;

  @Column({ type: 'integer' })
  guesses!: number;

  @Column({ ...TIMESTAMPTZ, name: 'window_ends' })
  windowEnds!: Date;
}
