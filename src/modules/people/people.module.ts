/** Wires the services that commands and consoles share. Sign-in belongs to the consoles alone (console.module.ts). */
import { Module } from '@nestjs/common';
import { Invitations } from './invitations.js';
import { SecondFactors } from './second-factors.js';
import { Sessions } from './sessions.js';
import { RestoredAccessReview } from './restored-access.js';
import { Team } from './team.js';

const SHARED = [Invitations, SecondFactors, RestoredAccessReview, Sessions, Team];

@Module({ providers: SHARED, exports: SHARED })
export class PeopleModule {}
