/**
 * A record under construction. Leaving an optional field out is done by not writing it: under
 * `exactOptionalPropertyTypes` it must not be `undefined`, and spreading conditional objects costs more than the rest of
 * making the record.
 */
export type Writable<T> = { -readonly [Key in keyof T]: T[Key] };
