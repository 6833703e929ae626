/**
 * The tables and functions of a store on PostgreSQL, in the order in which they were added. A migration that was
 * released never changes; a change is a new one.
 *
 * Rows are kept under encoded keys (`bytea` sorts by unsigned bytes, as the encoding needs). A commit is one call of
 * `gateway_kv_commit`:
 *
 * - It locks the rows that it names in the order of their keys, so that two commits cannot wait for each other.
 * - A row lock sees nothing where a row is absent. A key that must be absent is therefore inserted, and the insert
 *   gives way to a concurrent one; the commit then fails with 40001 and is repeated by the caller, whose check sees the
 *   other row.
 * - Versions come from a sequence: unique, but not in the order of commits.
 *
 * The clock of the server alone decides what has expired.
 */
export const migrations: readonly string[] = [
  `
  create table gateway_kv (
    key bytea primary key,
    value bytea not null,
    version bigint not null,
    expires_at timestamptz
  ) with (
    -- Wallets and leases change all the time: room in each page keeps an update out of the index.
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.05
  );
  create index gateway_kv_expiry on gateway_kv (expires_at) where expires_at is not null;
  create sequence gateway_kv_version cache 64;

  create function gateway_kv_commit(
    check_keys bytea[],
    check_versions bigint[],
    set_keys bytea[],
    set_values bytea[],
    set_lives_ms bigint[],
    delete_keys bytea[],
    channels text[]
  ) returns bigint language plpgsql as $$
  declare
    now_at timestamptz := clock_timestamp();
    next_version bigint;
    found_version bigint;
    absent_keys bytea[] := '{}';
    placeholder_keys bytea[] := '{}';
    written bigint;
    channel text;
  begin
    perform 1 from (
      select key from gateway_kv
      where key = any (check_keys || set_keys || delete_keys)
      order by key for update
    ) as locked;
    for i in 1 .. cardinality(check_keys) loop
      select version into found_version from gateway_kv
      where key = check_keys[i] and (expires_at is null or expires_at > now_at);
      if coalesce(found_version, 0) <> check_versions[i] then return null; end if;
      if check_versions[i] = 0 then absent_keys := absent_keys || check_keys[i]; end if;
    end loop;

    next_version := nextval('gateway_kv_version');
    if cardinality(absent_keys) > 0 then
      delete from gateway_kv where key = any (absent_keys) and expires_at <= now_at;
      select coalesce(array_agg(key), '{}') into placeholder_keys
      from unnest(absent_keys) as key where key <> all (set_keys);
    end if;
    if cardinality(set_keys) + cardinality(placeholder_keys) > 0 then
      insert into gateway_kv as kept (key, value, version, expires_at)
      select key, value, next_version, now_at + life_ms * interval '1 millisecond'
      from (
        select * from unnest(set_keys, set_values, set_lives_ms) as given (key, value, life_ms)
        union all
        select key, ''::bytea, 0 from unnest(placeholder_keys) as key
      ) as rows order by key
      on conflict (key) do update
      set value = excluded.value, version = excluded.version, expires_at = excluded.expires_at
      where kept.key <> all (absent_keys);
      get diagnostics written = row_count;
      if written <> cardinality(set_keys) + cardinality(placeholder_keys) then
        raise exception 'a row appeared that must be absent' using errcode = '40001';
      end if;
    end if;
    if cardinality(delete_keys) + cardinality(placeholder_keys) > 0 then
      delete from gateway_kv where key = any (delete_keys || placeholder_keys);
    end if;
    foreach channel in array channels loop
      perform pg_notify('gateway_kv', channel);
    end loop;
    return next_version;
  end $$;
  `,
];
