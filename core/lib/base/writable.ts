/**
 * A record under construction, whose optional fields are left out by not writing them.
 *
 * Under `exactOptionalPropertyTypes` they must not be `undefined`, and spreading conditional
 * objects costs more than all other work on the record.
 */
export type Writable<T> = { -readonly [Key in keyof T]: T[Key] };
