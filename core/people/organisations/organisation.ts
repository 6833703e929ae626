/** The bounds of an organisation. */
import { dayMs } from "../../lib/time/durations.ts";

/** Most members of an organisation, the owner included: lists of them are read whole. */
export const maxMembers = 500;

/** Most organisations that a person belongs to; the switcher lists them all. */
export const maxMemberships = 50;

/** Most organisations that a person owns: each one has a wallet. */
export const maxOwnedOrganisations = 10;

/** Most people who are known to have been removed from an organisation: twice its members; the oldest is forgotten. */
export const maxRemovedMembers = 2 * maxMembers;

/**
 * Milliseconds for which a former member decides about no money of the organisation as an operator: a quarter of a year,
 * so that no one leaves just to approve.
 */
export const formerMemberMs = 90 * dayMs;

/** Most invitations of an organisation that wait for an answer; each one sends a mail. */
export const maxOpenInvitations = 100;

/** Milliseconds for which an invitation can be accepted: a week, holidays included. */
export const invitationMs = 7 * dayMs;

/** Most teams of an organisation. */
export const maxTeams = 100;
